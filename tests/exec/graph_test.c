/* Graphs, made by hand and by capture: order, replays, and what is refused. */
#include "sim/exec/graph.h"

#include "tests/shim/assay_test.h"

#include <stdlib.h>
#include <string.h>

static char done[64];

typedef struct letter_work {
    exec_work work;
    char letter;
} letter_work;

static void write_letter(exec_work *work) {
    const char text[] = {((letter_work *)work)->letter, '\0'};
    strcat(done, text);
}

static exec_work *letter(char c) {
    letter_work *w = exec_work_new(EXEC_WORK_HOST, sizeof *w, write_letter);
    REQUIRE(w != NULL);
    w->letter = c;
    return &w->work;
}

static exec_node *add(exec_graph *graph, char c, exec_node *const *needs, size_t n) {
    exec_node *node;
    REQUIRE(exec_graph_add(graph, needs, n, letter(c), &node) == EXEC_SUCCESS);
    return node;
}

static void launch(exec_replay *replay) {
    done[0] = '\0';
    REQUIRE(exec_replay_launch(replay, exec_stream_default()) == EXEC_SUCCESS);
    exec_streams_synchronize();
}

ASSAY_TEST(exec_graph, a_node_runs_behind_what_it_needs, "unit") {
    exec_graph *graph;
    exec_replay *replay;
    exec_streams_set(EXEC_EAGER);
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    exec_node *last = add(graph, 'c', NULL, 0); /* made first */
    exec_node *a = add(graph, 'a', NULL, 0);
    exec_node *b = add(graph, 'b', &a, 1);
    REQUIRE(exec_graph_add_edge(b, last) == EXEC_SUCCESS);
    REQUIRE(exec_replay_create(&replay, graph) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "abc");
    REQUIRE(exec_replay_set(replay, b, letter('B')) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "aBc");
    exec_replay_destroy(replay);

    REQUIRE(exec_graph_add_edge(last, a) == EXEC_SUCCESS); /* a circle */
    CHECK(exec_replay_create(&replay, graph) == EXEC_INVALID_VALUE);
    exec_graph_destroy(graph);
}

ASSAY_TEST(exec_graph, a_clone_and_a_replay_outlive_the_graph, "unit") {
    exec_graph *graph, *copy, *other;
    exec_replay *replay;
    exec_error error;
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    exec_node *a = add(graph, 'a', NULL, 0);
    add(graph, 'b', &a, 1);
    REQUIRE(exec_graph_clone(&copy, graph) == EXEC_SUCCESS);
    exec_graph_destroy(graph);
    REQUIRE(exec_replay_create(&replay, copy) == EXEC_SUCCESS);
    exec_graph_destroy(copy);
    launch(replay);
    CHECK_STREQ(done, "ab");

    REQUIRE(exec_graph_create(&other) == EXEC_SUCCESS);
    a = add(other, 'x', NULL, 0);
    CHECK(!exec_replay_update(replay, other, &error) && error == EXEC_SUCCESS); /* another form */
    add(other, 'y', &a, 1);
    CHECK(exec_replay_update(replay, other, &error));
    launch(replay);
    CHECK_STREQ(done, "xy");
    exec_graph_destroy(other);
    exec_replay_destroy(replay);
}

static exec_stream *stream(void) {
    exec_stream *s;
    REQUIRE_OK(exec_stream_create(true, &s));
    return s;
}

ASSAY_TEST(exec_graph, capture_keeps_the_order_of_streams_and_events, "unit") {
    exec_stream *a = stream(), *b = stream();
    exec_event *fork, *join;
    exec_graph *graph;
    exec_node *const *needs;
    bool captured;
    REQUIRE_OK(exec_event_create(&fork));
    REQUIRE_OK(exec_event_create(&join));
    CHECK(exec_capture_begin(exec_stream_default(), NULL) == EXEC_CAPTURE_UNSUPPORTED);
    REQUIRE(exec_capture_begin(a, NULL) == EXEC_SUCCESS);
    CHECK(exec_capture_begin(a, NULL) == EXEC_ILLEGAL_STATE);
    CHECK(exec_work_submit(letter('d'), exec_stream_default()) == EXEC_CAPTURE_IMPLICIT);
    done[0] = '\0';
    REQUIRE(exec_work_submit(letter('1'), a) == EXEC_SUCCESS);
    REQUIRE(exec_capture_record(fork, a, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_capture_wait(b, fork, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_work_submit(letter('2'), b) == EXEC_SUCCESS);
    REQUIRE(exec_work_submit(letter('3'), a) == EXEC_SUCCESS);
    REQUIRE(exec_capture_record(join, b, &captured) == EXEC_SUCCESS && captured);
    CHECK(exec_capture_end(b, &graph) == EXEC_CAPTURE_UNMATCHED);
    REQUIRE(exec_capture_wait(a, join, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_work_submit(letter('4'), a) == EXEC_SUCCESS);
    REQUIRE(exec_capture_end(a, &graph) == EXEC_SUCCESS);
    CHECK_STREQ(done, "");
    REQUIRE(exec_graph_size(graph) == 4);
    CHECK(exec_node_needs(exec_graph_node(graph, 1), &needs) == 1);
    CHECK(needs[0] == exec_graph_node(graph, 0));
    CHECK(exec_node_needs(exec_graph_node(graph, 3), &needs) == 2);
    CHECK(exec_capture_of(a) == NULL && exec_capture_of(b) == NULL && !exec_capture_any());
    /* The events are of a capture that is over. */
    CHECK(exec_capture_wait(b, join, &captured) == EXEC_SUCCESS && !captured);
    exec_graph_destroy(graph);

    REQUIRE(exec_capture_begin(a, NULL) == EXEC_SUCCESS);
    REQUIRE(exec_capture_record(fork, a, &captured) == EXEC_SUCCESS);
    REQUIRE(exec_capture_wait(b, fork, &captured) == EXEC_SUCCESS);
    REQUIRE(exec_work_submit(letter('2'), b) == EXEC_SUCCESS);
    CHECK(exec_capture_end(a, &graph) == EXEC_CAPTURE_UNJOINED && graph == NULL);
    exec_capture_forget(fork);
    exec_capture_forget(join);
    exec_event_destroy(fork);
    exec_event_destroy(join);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}
