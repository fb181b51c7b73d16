/*
 * The relation of translation of conv3d_groupnorm_mean.
 *
 * Along an axis of D voxels there are D-k+1 positions, and voxel v takes part in those from v-k+1
 * to v. All k of them exist where k-1 <= v <= D-k. When x is zero elsewhere, moving what it holds,
 * so that it stays inside, moves c - b, and beyond it c is b before and after: each channel has the
 * same values at other positions. So the statistics, y, dgamma and dbeta stay. dc at a position
 * depends on c there and on sums over the group alone (A is the same at all positions), so it
 * moves as c does, and dw and db, sums over positions, stay. dx at v is a sum over the positions of
 * v: it moves where v is inside before and after. In the frame some of those positions do not
 * exist, while dc is not 0, and nothing is said.
 */
#include "oracles/common/relate.h"
#include "oracles/conv3d_groupnorm_mean/definition.h"

/* Where x has something: `length` voxels from k-1 on along each axis, which move by `by`. They move
 * by half of the room that there is, to its end. */
typedef struct content {
    int64_t in[3], volume; /* of x: extents, and elements of one channel */
    int64_t from, length[3], by[3];
} content;

static content content_of(const assay_case *c) {
    const conv_sizes s = conv_sizes_of(&c->params);
    content box = {.volume = s.volume, .from = s.k - 1};
    for (int axis = 0; axis < 3; ++axis) {
        const int64_t room = s.in[axis] - 2 * (s.k - 1);
        box.in[axis] = s.in[axis];
        box.by[axis] = room > 0 ? room / 2 : 0;
        box.length[axis] = room - box.by[axis];
    }
    return box;
}

bool conv_can_move(const assay_case *c) {
    const content box = content_of(c);
    bool fits = true, moves = false;
    for (int axis = 0; axis < 3; ++axis) {
        fits = fits && box.length[axis] > 0;
        moves = moves || box.by[axis] > 0;
    }
    return fits && moves;
}

static bool is_inside(const content *box, int64_t e) {
    int64_t rest = e % box->volume;
    for (int axis = 2; axis >= 0; --axis) {
        const int64_t v = rest % box->in[axis] - box->from;
        if (v < 0 || v >= box->length[axis])
            return false;
        rest /= box->in[axis];
    }
    return true;
}

/* How many elements further a voxel comes to lie. */
static int64_t distance(const content *box) {
    return (box->by[0] * box->in[1] + box->by[1]) * box->in[2] + box->by[2];
}

static void clear_frame(const content *box, assay_arrays *arrays) {
    for (int64_t e = 0; e < arrays->size[CONV_X]; ++e)
        if (!is_inside(box, e))
            arrays->data[CONV_X][e] = 0;
}

assay_status conv_frame(assay_problem *base) {
    const content box = content_of(&base->c);
    clear_frame(&box, &base->in);
    return ASSAY_OK;
}

assay_status conv_move(const assay_problem *base, int32_t i, assay_problem *derived) {
    (void)i;
    const content box = content_of(&base->c);
    const int64_t further = distance(&box);
    double *x = derived->in.data[CONV_X];
    relate_copy_data(base, derived);
    for (int64_t e = base->in.size[CONV_X] - 1; e >= 0; --e)
        x[e] = e >= further && is_inside(&box, e - further) ? x[e - further] : 0;
    return ASSAY_OK;
}

assay_status conv_drop_frame(const assay_problem *base, const assay_problem *derived,
                             assay_results *results) {
    (void)derived;
    const content box = content_of(&base->c);
    clear_frame(&box, &results->grad);
    return ASSAY_OK;
}

assay_status conv_move_back(const assay_problem *base, const assay_problem *derived,
                            const assay_results *results, assay_results *want) {
    (void)derived;
    const content box = content_of(&base->c);
    const int64_t further = distance(&box);
    const double *dx = results->grad.data[CONV_X];
    relate_copy_results(results, want);
    for (int64_t e = 0; e < want->grad.size[CONV_X]; ++e)
        want->grad.data[CONV_X][e] = is_inside(&box, e) ? dx[e + further] : 0;
    return ASSAY_OK;
}
