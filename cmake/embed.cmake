# Writes files, one behind the other, as a C string: cmake -D OUTPUT=... -D NAME=... -D FILES=...
# -P embed.cmake. Lines that include files of this project are left out: those files are here, too.
set(text "")
separate_arguments(files UNIX_COMMAND "${FILES}")
foreach(file ${files})
  file(READ ${file} one)
  string(REGEX REPLACE "#include \"[^\n]*\n" "" one "${one}")
  string(APPEND text "${one}")
endforeach()
file(WRITE ${OUTPUT}.txt "${text}")
file(READ ${OUTPUT}.txt hex HEX)
file(REMOVE ${OUTPUT}.txt)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes
       "${bytes}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0};\n")
