"""The files that assay exec wrote of a program with two problems: files.py FOLDER SUPPRESSED."""

import json
import sys
import xml.etree.ElementTree as xml

folder, suppressed = sys.argv[1], int(sys.argv[2])

report = json.load(open(f"{folder}/r.json"))
assert report["exit"] == 0 and report["signal"] == 0
kernel, copy = sorted(report["problems"], key=lambda p: p["kind"] != "kernel")
assert (kernel["kind"], kernel["kernel"]) == ("kernel", "count"), kernel
assert (kernel["file"], kernel["line"]) == ("/src/count.cu", 7), kernel
assert (copy["kind"], copy["kernel"], copy["file"], copy["line"]) == ("copy", None, None, None), copy
assert [p["suppressed"] for p in report["problems"]] == [suppressed > 0] * 2

suites = xml.parse(f"{folder}/r.xml").getroot()
suite = suites.find("testsuite")
cases = suite.findall("testcase")
found = [(c.get("classname"), [e.tag for e in c]) for c in cases]
problem = ["skipped" if suppressed else "failure"]
assert found == [("program", []), ("kernel", problem), ("copy", problem)], found
for place in (suites, suite):
    counts = [int(place.get(name)) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == [3, 2 - suppressed, 0, suppressed], counts
assert "count.cu:7" in cases[1][0].text

# What SARIF 2.1.0 requires, and what code hosts want beside.
sarif = json.load(open(f"{folder}/r.sarif"))
assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json")
(run,) = sarif["runs"]
driver = run["tool"]["driver"]
assert driver["name"] == "assay" and driver["version"]
rules = [rule["id"] for rule in driver["rules"]]
assert len(set(rules)) == len(rules) and all(r["shortDescription"]["text"] for r in driver["rules"])
assert all(isinstance(i["executionSuccessful"], bool) for i in run["invocations"])
assert len(run["results"]) == 2
for result in run["results"]:
    assert result["message"]["text"] and result["level"] in ("none", "note", "warning", "error")
    assert rules[result["ruleIndex"]] == result["ruleId"]
    assert ("suppressions" in result) == (suppressed > 0)
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"]
place = next(r for r in run["results"] if r["ruleId"] == "kernel")["locations"][0]
assert place["physicalLocation"]["artifactLocation"]["uri"] == "file:///src/count.cu"
assert place["physicalLocation"]["region"]["startLine"] == 7
assert place["logicalLocations"][0]["name"] == "count"
