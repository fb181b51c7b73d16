/* Graphs, made by hand and by capture: order, replays, and what is refused. */
#include "sim/exec/graph.h"

#include "sim/exec/allocate.h"
#include "sim/exec/graph_memory.h"
#include "sim/exec/handles.h"

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
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "abc");
    REQUIRE(exec_node_set(exec_replay_node(replay, b), letter('B')) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "aBc");
    exec_replay_destroy(replay);

    REQUIRE(exec_graph_add_edge(last, a) == EXEC_SUCCESS); /* a circle */
    CHECK(exec_replay_create(&replay, graph, 0) == EXEC_INVALID_VALUE);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
}

ASSAY_TEST(exec_graph, a_clone_and_a_replay_outlive_the_graph, "unit") {
    exec_graph *graph, *copy, *other;
    exec_replay *replay;
    exec_node *where;
    exec_update result;
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    exec_node *a = add(graph, 'a', NULL, 0);
    add(graph, 'b', &a, 1);
    REQUIRE(exec_graph_clone(&copy, graph) == EXEC_SUCCESS);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
    REQUIRE(exec_replay_create(&replay, copy, 0) == EXEC_SUCCESS);
    CHECK(exec_graph_destroy(copy) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "ab");

    REQUIRE(exec_graph_create(&other) == EXEC_SUCCESS);
    a = add(other, 'x', NULL, 0);
    CHECK(exec_replay_update(replay, other, &result, &where) == EXEC_UPDATE_FAILURE);
    CHECK(result == EXEC_OTHER_FORM);
    exec_node *y = add(other, 'y', NULL, 0);
    CHECK(exec_replay_update(replay, other, &result, &where) == EXEC_UPDATE_FAILURE);
    CHECK(result == EXEC_OTHER_FORM && where == y); /* as many nodes, but no edge */
    REQUIRE(exec_graph_add_edge(a, y) == EXEC_SUCCESS);
    CHECK(exec_replay_update(replay, other, &result, &where) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "xy");
    CHECK(exec_graph_destroy(other) == EXEC_SUCCESS);
    exec_replay_destroy(replay);
}

/* What `node` waits for: the place of the only one. */
static size_t only_need(const exec_node *node) {
    exec_node *const *needs;
    REQUIRE(exec_node_needs(node, &needs) == 1);
    size_t i = 0;
    while (exec_graph_node(exec_node_owner(node), i) != needs[0])
        ++i;
    return i;
}

ASSAY_TEST(exec_graph, nodes_and_edges_can_go, "unit") {
    exec_graph *graph, *copy;
    exec_replay *replay;
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    exec_node *a = add(graph, 'a', NULL, 0);
    exec_node *b = add(graph, 'b', &a, 1);
    exec_node *c = add(graph, 'c', &b, 1);
    CHECK(exec_graph_remove_edge(a, c) == EXEC_INVALID_VALUE); /* there is none */
    CHECK(exec_graph_remove_edge(b, c) == EXEC_SUCCESS);
    REQUIRE(exec_graph_add_edge(a, c) == EXEC_SUCCESS);
    REQUIRE(exec_graph_add_edge(b, c) == EXEC_SUCCESS);
    CHECK(exec_node_destroy(b) == EXEC_SUCCESS);
    REQUIRE(exec_graph_size(graph) == 2);
    CHECK(only_need(c) == 0);
    REQUIRE(exec_graph_clone(&copy, graph) == EXEC_SUCCESS);
    CHECK(exec_graph_copy_of(copy, c) == exec_graph_node(copy, 1));
    CHECK(exec_graph_copy_of(graph, exec_graph_node(copy, 1)) == NULL); /* the other way round */
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "ac");
    CHECK(exec_replay_enable(replay, c, false) == EXEC_INVALID_VALUE); /* calls cannot be */
    exec_replay_destroy(replay);
    CHECK(exec_graph_destroy(copy) == EXEC_SUCCESS);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
}

ASSAY_TEST(exec_graph, a_graph_within_a_graph_is_a_copy_that_can_be_changed, "unit") {
    exec_graph *graph, *child;
    exec_replay *replay;
    exec_node *node;
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    REQUIRE(exec_graph_create(&child) == EXEC_SUCCESS);
    exec_node *a = add(graph, 'a', NULL, 0);
    add(child, 'x', NULL, 0);
    REQUIRE(exec_graph_add_graph(graph, &a, 1, child, false, &node) == EXEC_SUCCESS);
    add(graph, 'c', &node, 1);
    exec_graph *own = exec_node_graph(node);
    CHECK(own != child && exec_graph_destroy(own) == EXEC_INVALID_VALUE);
    exec_node *x = exec_graph_node(own, 0);
    REQUIRE(exec_node_set(x, letter('y')) == EXEC_SUCCESS);
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "ayc");
    REQUIRE(exec_replay_set_graph(replay, node, child) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "axc");
    REQUIRE(exec_node_set(exec_replay_node(replay, x), letter('z')) == EXEC_SUCCESS);
    launch(replay);
    CHECK_STREQ(done, "azc");
    add(child, 'x', NULL, 0);
    CHECK(exec_replay_set_graph(replay, node, child) == EXEC_INVALID_VALUE); /* another form */
    exec_replay_destroy(replay);
    CHECK(exec_graph_destroy(child) == EXEC_SUCCESS);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
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
    CHECK(exec_capture_begin(exec_stream_default(), NULL, EXEC_CAPTURE_GLOBAL) ==
          EXEC_CAPTURE_UNSUPPORTED);
    REQUIRE(exec_capture_begin(a, NULL, EXEC_CAPTURE_GLOBAL) == EXEC_SUCCESS);
    CHECK(exec_capture_begin(a, NULL, EXEC_CAPTURE_GLOBAL) == EXEC_ILLEGAL_STATE);
    done[0] = '\0';
    REQUIRE(exec_work_submit(letter('1'), a) == EXEC_SUCCESS);
    REQUIRE(exec_capture_record(fork, a, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_capture_wait(b, fork, false, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_work_submit(letter('2'), b) == EXEC_SUCCESS);
    REQUIRE(exec_work_submit(letter('3'), a) == EXEC_SUCCESS);
    REQUIRE(exec_capture_record(join, b, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_capture_wait(a, join, false, &captured) == EXEC_SUCCESS && captured);
    REQUIRE(exec_work_submit(letter('4'), a) == EXEC_SUCCESS);
    REQUIRE(exec_capture_end(a, &graph) == EXEC_SUCCESS);
    CHECK_STREQ(done, "");
    REQUIRE(exec_graph_size(graph) == 4);
    CHECK(exec_node_needs(exec_graph_node(graph, 1), &needs) == 1);
    CHECK(needs[0] == exec_graph_node(graph, 0));
    CHECK(exec_node_needs(exec_graph_node(graph, 3), &needs) == 2);
    CHECK(exec_capture_of(a) == NULL && exec_capture_of(b) == NULL && !exec_capture_any());
    /* The events are of a capture that is over. */
    CHECK(exec_capture_wait(b, join, false, &captured) == EXEC_INVALID_VALUE);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);

    REQUIRE(exec_capture_begin(a, NULL, EXEC_CAPTURE_GLOBAL) == EXEC_SUCCESS);
    REQUIRE(exec_capture_record(fork, a, &captured) == EXEC_SUCCESS);
    REQUIRE(exec_capture_wait(b, fork, false, &captured) == EXEC_SUCCESS);
    REQUIRE(exec_work_submit(letter('2'), b) == EXEC_SUCCESS);
    CHECK(exec_capture_end(a, &graph) == EXEC_CAPTURE_UNJOINED && graph == NULL);
    /* Work that the default stream would wait for makes it invalid. */
    REQUIRE(exec_capture_begin(a, NULL, EXEC_CAPTURE_RELAXED) == EXEC_SUCCESS);
    CHECK(exec_capture_unsafe() == EXEC_SUCCESS);
    CHECK(exec_capture_status(a) == EXEC_CAPTURED);
    CHECK(exec_work_submit(letter('d'), exec_stream_default()) == EXEC_CAPTURE_IMPLICIT);
    CHECK(exec_capture_status(a) == EXEC_INVALID_CAPTURE);
    CHECK(exec_work_submit(letter('5'), a) == EXEC_CAPTURE_INVALIDATED);
    CHECK(exec_capture_end(a, &graph) == EXEC_CAPTURE_INVALIDATED && graph == NULL);
    CHECK(exec_capture_end(a, &graph) == EXEC_ILLEGAL_STATE);
    exec_capture_forget(fork);
    exec_capture_forget(join);
    exec_event_destroy(fork);
    exec_event_destroy(join);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}

/* ---- memory ---- */

static bool is_there(const void *memory) {
    return exec_memory_find(memory) != NULL;
}

ASSAY_TEST(exec_graph, memory_lives_from_its_node_to_what_frees_it, "unit") {
    exec_graph *graph, *copy;
    exec_replay *replay, *automatic;
    exec_work *work;
    exec_node *node;
    size_t bytes;
    exec_streams_set(EXEC_LATE);
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    REQUIRE(exec_allocate_work(100, graph, &work) == EXEC_SUCCESS);
    void *memory = exec_work_memory(work, &bytes);
    REQUIRE(exec_graph_add(graph, NULL, 0, work, &node) == EXEC_SUCCESS);
    CHECK(bytes == 100 && !is_there(memory));
    CHECK(exec_node_destroy(node) == EXEC_NOT_SUPPORTED);
    CHECK(exec_graph_clone(&copy, graph) == EXEC_NOT_SUPPORTED);
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    CHECK(exec_replay_create(&automatic, graph, 0) == EXEC_NOT_SUPPORTED); /* a second one */
    REQUIRE(exec_replay_launch(replay, exec_stream_default()) == EXEC_SUCCESS);
    CHECK(!is_there(memory)); /* late */
    /* The launch before has not run, but will have memory. */
    CHECK(exec_replay_launch(replay, exec_stream_default()) == EXEC_INVALID_VALUE);
    exec_streams_synchronize();
    CHECK(is_there(memory) && *(unsigned char *)memory == 0xff);
    *(char *)memory = 1;
    REQUIRE(exec_submit_free(memory, exec_stream_default()) == EXEC_SUCCESS);
    REQUIRE(exec_replay_launch(replay, exec_stream_default()) == EXEC_SUCCESS);
    exec_streams_synchronize();
    CHECK(is_there(memory) && *(unsigned char *)memory == 0xff); /* fresh again */
    exec_replay_destroy(replay);
    REQUIRE(exec_replay_create(&automatic, graph, EXEC_AUTO_FREE) == EXEC_SUCCESS);
    REQUIRE(exec_replay_launch(automatic, exec_stream_default()) == EXEC_SUCCESS);
    REQUIRE(exec_replay_launch(automatic, exec_stream_default()) == EXEC_SUCCESS);
    exec_streams_synchronize();
    CHECK(is_there(memory));
    exec_replay_destroy(automatic);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
    CHECK(is_there(memory)); /* and so the program's to free */
    CHECK(exec_deallocate(memory) == EXEC_SUCCESS);
    exec_streams_set(EXEC_EAGER);
}

ASSAY_TEST(exec_graph, a_free_node_ends_it, "unit") {
    exec_graph *graph;
    exec_replay *replay;
    exec_work *work;
    exec_node *node;
    uint64_t used, high;
    REQUIRE(exec_graph_memory_set(1, 0) == EXEC_SUCCESS);
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    REQUIRE(exec_allocate_work(4096, graph, &work) == EXEC_SUCCESS);
    void *memory = exec_work_memory(work, &(size_t){0});
    REQUIRE(exec_graph_add(graph, NULL, 0, work, &node) == EXEC_SUCCESS);
    REQUIRE(exec_free_work(memory, graph, &work) == EXEC_SUCCESS);
    REQUIRE(exec_graph_add(graph, &node, 1, work, &node) == EXEC_SUCCESS);
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    for (int i = 0; i < 2; ++i) {
        REQUIRE(exec_replay_launch(replay, exec_stream_default()) == EXEC_SUCCESS);
        CHECK(!is_there(memory));
    }
    /* In units of 32 MiB, and kept until it is trimmed. */
    CHECK(exec_graph_memory_get(0, &used) == EXEC_SUCCESS && used == 32 << 20);
    exec_graph_memory_trim();
    CHECK(exec_graph_memory_get(0, &used) == EXEC_SUCCESS && used == 0);
    CHECK(exec_graph_memory_get(1, &high) == EXEC_SUCCESS && high == 32 << 20);
    CHECK(exec_graph_memory_get(4, &high) == EXEC_INVALID_VALUE);
    exec_replay_destroy(replay);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
    CHECK(!exec_memory_is_reserved(memory));
}

/* ---- objects, conditions ---- */

static void count_up(void *data) {
    ++*(int *)data;
}

ASSAY_TEST(exec_graph, an_object_goes_with_the_last_that_holds_it, "unit") {
    exec_user_object *object;
    exec_graph *graph;
    exec_replay *replay;
    int gone = 0;
    REQUIRE(exec_user_object_create(&object, &gone, count_up, 1) == EXEC_SUCCESS);
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    CHECK(exec_user_objects_retain(exec_graph_objects(graph), object, 2, true) ==
          EXEC_INVALID_VALUE); /* it has one */
    REQUIRE(exec_user_objects_retain(exec_graph_objects(graph), object, 1, true) == EXEC_SUCCESS);
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
    CHECK(gone == 0);
    exec_replay_destroy(replay);
    CHECK(gone == 1);
    CHECK(exec_user_object_release(object, 1) == EXEC_INVALID_VALUE);
}

ASSAY_TEST(exec_graph, conditional_nodes_take_their_handle_as_it_is_then, "unit") {
    exec_graph *graph, **bodies;
    exec_replay *replay;
    exec_node *node;
    uint64_t handle;
    exec_streams_set(EXEC_EAGER);
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    REQUIRE(exec_condition_create(exec_graph_conditions(graph), 1, true, &handle) == EXEC_SUCCESS);
    CHECK(exec_replay_create(&replay, graph, 0) == EXEC_INVALID_VALUE); /* no node has it */
    CHECK(exec_graph_add_conditional(graph, NULL, 0, handle, EXEC_WHILE, 2, &bodies, &node) ==
          EXEC_INVALID_VALUE);
    REQUIRE(exec_graph_add_conditional(graph, NULL, 0, handle, EXEC_SWITCH, 2, &bodies, &node) ==
            EXEC_SUCCESS);
    exec_node *inner;
    CHECK(exec_graph_add(bodies[0], NULL, 0, letter('a'), &inner) == EXEC_INVALID_VALUE);
    exec_work *a = letter('a'), *b = letter('b');
    a->kind = b->kind = EXEC_WORK_KERNEL;
    REQUIRE(exec_graph_add(bodies[0], NULL, 0, a, &inner) == EXEC_SUCCESS);
    REQUIRE(exec_graph_add(bodies[1], NULL, 0, b, &inner) == EXEC_SUCCESS);
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    exec_replay *second;
    CHECK(exec_replay_create(&second, graph, 0) == EXEC_NOT_SUPPORTED);
    launch(replay);
    CHECK_STREQ(done, "b");
    exec_condition_of(handle)->value = 2; /* each launch assigns it again */
    launch(replay);
    CHECK_STREQ(done, "b");
    exec_condition_of(handle)->first = 2;
    launch(replay);
    CHECK_STREQ(done, "");
    exec_replay_destroy(replay);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
    CHECK(exec_condition_of(handle) == NULL);
}

/* ---- events ---- */

ASSAY_TEST(exec_graph, an_event_node_stands_at_its_place, "unit") {
    exec_stream *a = stream(), *b = stream();
    exec_event *event;
    exec_graph *graph;
    exec_replay *replay;
    exec_work *work;
    exec_node *node;
    exec_streams_set(EXEC_LATE);
    REQUIRE_OK(exec_event_create(&event));
    REQUIRE_OK(exec_handle_add(event, EXEC_HANDLE_EVENT));
    REQUIRE(exec_graph_create(&graph) == EXEC_SUCCESS);
    exec_node *first = add(graph, 'a', NULL, 0);
    REQUIRE(exec_record_work(event, &work) == EXEC_SUCCESS);
    REQUIRE(exec_graph_add(graph, &first, 1, work, &node) == EXEC_SUCCESS);
    add(graph, 'c', &node, 1);
    REQUIRE(exec_replay_create(&replay, graph, 0) == EXEC_SUCCESS);
    done[0] = '\0';
    REQUIRE(exec_replay_launch(replay, a) == EXEC_SUCCESS);
    REQUIRE_OK(exec_stream_wait(b, event));
    REQUIRE(exec_work_submit(letter('b'), b) == EXEC_SUCCESS);
    exec_stream_synchronize(b);
    CHECK_STREQ(done, "ab"); /* 'c' is behind the event */
    exec_stream_synchronize(a);
    CHECK_STREQ(done, "abc");
    exec_handle_remove(event);
    CHECK(exec_replay_launch(replay, a) == EXEC_INVALID_VALUE); /* the event is gone */
    exec_streams_set(EXEC_EAGER);
    exec_replay_destroy(replay);
    CHECK(exec_graph_destroy(graph) == EXEC_SUCCESS);
    exec_event_destroy(event);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}
