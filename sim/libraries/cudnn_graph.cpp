/* Before the simulated device's words, __noinline__ among them, which <memory> uses. */
#include <string.h>

#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "sim/libraries/cudnn_graph.h"
#include "sim/libraries/cudnn_number.h"
#include "sim/libraries/cudnn_tensor.h"

namespace sim_dnn {
namespace {

enum { AXES = 4, PIECE = 16, WORKSPACE = 64 };

struct node;
typedef std::shared_ptr<node> link;

/* An attribute's values: whole numbers, or addresses, or other descriptors. */
struct attribute {
    cudnnBackendAttributeName_t name;
    std::vector<int64_t> numbers;
    std::vector<link> links;
};

/* What stands behind a descriptor. Others may hold it when the descriptor is destroyed. */
struct node {
    cudnnBackendDescriptorType_t type;
    bool final;
    std::vector<attribute> attributes;

    const attribute *find(cudnnBackendAttributeName_t name) const {
        for (const attribute &a : attributes)
            if (a.name == name)
                return &a;
        return nullptr;
    }
    bool has(cudnnBackendAttributeName_t name) const {
        return find(name) != nullptr;
    }
    /* Of an attribute that it has. */
    const attribute &at(cudnnBackendAttributeName_t name) const {
        return *find(name);
    }
    int64_t number(cudnnBackendAttributeName_t name) const {
        return at(name).numbers[0];
    }
    const node &other(cudnnBackendAttributeName_t name) const {
        return *at(name).links[0];
    }
    void put(const attribute &a) {
        for (attribute &old : attributes)
            if (old.name == a.name) {
                old = a;
                return;
            }
        attributes.push_back(a);
    }
};

node *node_of(cudnnBackendDescriptor_t descriptor) {
    return descriptor ? static_cast<link *>(descriptor)->get() : nullptr;
}

/* ---- which attributes there are ---- */

enum { ANY = 0, MOST_AXES = 8 };

/* `final`: a descriptor is not final without it. `most`: values; ANY: any number of them. */
struct entry {
    cudnnBackendDescriptorType_t of;
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int most;
    bool needed;
};

const entry table[] = {
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
     true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
     true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, false},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, false},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, false},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, false},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
     1, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, ANY, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
     true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
     1, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, MOST_AXES,
     true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, MOST_AXES, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, true},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, false},
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, false},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
     ANY, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
     CUDNN_TYPE_VOID_PTR, ANY, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
     1, true},
};

const entry *find_entry(cudnnBackendDescriptorType_t of, cudnnBackendAttributeName_t name) {
    for (const entry &e : table)
        if (e.of == of && e.name == name)
            return &e;
    return nullptr;
}

bool is_known(cudnnBackendDescriptorType_t type) {
    if (type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        return true; /* heuristics alone fill it */
    for (const entry &e : table)
        if (e.of == type)
            return true;
    return false;
}

size_t size_of(cudnnBackendAttributeType_t type) {
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
        return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_HEUR_MODE:
    case CUDNN_TYPE_POINTWISE_MODE:
        return sizeof(int);
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        break;
    }
    return sizeof(int64_t);
}

cudnnStatus_t read_values(const entry &e, int64_t count, const void *values, attribute *to) {
    const char *from = static_cast<const char *>(values);
    const size_t size = size_of(e.type);
    for (int64_t i = 0; i < count; ++i) {
        int64_t number = 0;
        memcpy(&number, from + (size_t)i * size, size);
        to->numbers.push_back(number);
        if (e.type != CUDNN_TYPE_BACKEND_DESCRIPTOR)
            continue;
        const link *other = reinterpret_cast<const link *>(number);
        if (!other)
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
        if (!(*other)->final)
            return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
        to->links.push_back(*other);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ---- what makes a descriptor complete ---- */

cudnnStatus_t check_tensor(const node &t) {
    const std::vector<int64_t> &size = t.at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers,
                               &stride = t.at(CUDNN_ATTR_TENSOR_STRIDES).numbers;
    const int64_t alignment = t.number(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    if (size.size() != stride.size() || alignment <= 0)
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t i = 0; i < size.size(); ++i)
        if (size[i] <= 0 || stride[i] <= 0)
            return CUDNN_STATUS_BAD_PARAM;
    return CUDNN_STATUS_SUCCESS;
}

bool is_backward(int64_t mode) {
    return mode == CUDNN_POINTWISE_GELU_BWD || mode == CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
}

cudnnStatus_t check_pointwise(const node &p) {
    const int64_t mode = p.number(CUDNN_ATTR_POINTWISE_MODE);
    const bool known = is_backward(mode) || mode == CUDNN_POINTWISE_GELU_FWD ||
                       mode == CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    return known && p.number(CUDNN_ATTR_POINTWISE_MATH_PREC) == CUDNN_DATA_FLOAT
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

/* x and, backward, dy; the result last. */
std::vector<const node *> tensors_of(const node &operation) {
    const node &how = operation.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    std::vector<const node *> all = {&operation.other(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)};
    if (is_backward(how.number(CUDNN_ATTR_POINTWISE_MODE))) {
        all.push_back(&operation.other(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC));
        all.push_back(&operation.other(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC));
    } else {
        all.push_back(&operation.other(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    }
    return all;
}

cudnnStatus_t check_operation(const node &o) {
    const node &how = o.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const bool backward = is_backward(how.number(CUDNN_ATTR_POINTWISE_MODE));
    if (o.has(CUDNN_ATTR_OPERATION_POINTWISE_YDESC) == backward ||
        o.has(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC) != backward ||
        o.has(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC) != backward)
        return CUDNN_STATUS_BAD_PARAM;
    const std::vector<const node *> all = tensors_of(o);
    for (const node *t : all)
        if (t->at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers !=
            all[0]->at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers)
            return CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH;
    return CUDNN_STATUS_SUCCESS;
}

bool is_handle(int64_t value) {
    const cudnnContext *handle = reinterpret_cast<const cudnnContext *>(value);
    return handle && handle->initialised;
}

cudnnStatus_t check_pack(const node &p) {
    const std::vector<int64_t> &ids = p.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).numbers;
    if (ids.size() != p.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).numbers.size())
        return CUDNN_STATUS_BAD_PARAM;
    for (size_t i = 0; i < ids.size(); ++i)
        for (size_t j = 0; j < i; ++j)
            if (ids[i] == ids[j])
                return CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t check_complete(const node &n) {
    switch (n.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
        return check_tensor(n);
    case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
        return check_pointwise(n);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return check_operation(n);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        if (!is_handle(n.number(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)))
            return CUDNN_STATUS_NOT_INITIALIZED;
        return n.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).links.size() == 1 ? CUDNN_STATUS_SUCCESS
                                                                     : CUDNN_STATUS_NOT_SUPPORTED;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return is_handle(n.number(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)) ? CUDNN_STATUS_SUCCESS
                                                                     : CUDNN_STATUS_NOT_INITIALIZED;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return check_pack(n);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    case CUDNN_BACKEND_MATMUL_DESCRIPTOR:
        break;
    }
    return CUDNN_STATUS_BAD_PARAM;
}

/* ---- the engine ---- */

const node &operation_of(const node &graph) {
    return *graph.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).links[0];
}

bool is_set(const node &t, cudnnBackendAttributeName_t name) {
    return t.has(name) && t.number(name) != 0;
}

bool has_engine_for(const node &t) {
    const std::vector<int64_t> &size = t.at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers,
                               &stride = t.at(CUDNN_ATTR_TENSOR_STRIDES).numbers;
    const int64_t type = t.number(CUDNN_ATTR_TENSOR_DATA_TYPE);
    if (size.size() != AXES || type == CUDNN_DATA_DOUBLE ||
        is_set(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL) || is_set(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
        return false;
    static const int order[AXES] = {1, 3, 2, 0}; /* from the innermost axis */
    int64_t dense = 1;
    for (int axis : order) {
        if (size[(size_t)axis] > 1 && stride[(size_t)axis] != dense)
            return false;
        dense *= size[(size_t)axis];
    }
    return (size_t)size[1] * element_size((cudnnDataType_t)type) % PIECE == 0 &&
           t.number(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) % PIECE == 0;
}

bool has_engine(const node &graph) {
    const std::vector<const node *> all = tensors_of(operation_of(graph));
    for (const node *t : all)
        if (!has_engine_for(*t) ||
            t->number(CUDNN_ATTR_TENSOR_DATA_TYPE) != all[0]->number(CUDNN_ATTR_TENSOR_DATA_TYPE))
            return false;
    return true;
}

const float INNER = 0.79788456f, CUBIC = 0.044715f, ROOT_HALF = 0.70710678f, DENSITY = 0.39894228f;

float half_gate(float x, bool by_tanh) {
    const float gate =
        by_tanh ? std::tanh(INNER * x * (1 + CUBIC * x * x)) : std::erf(x * ROOT_HALF);
    return 0.5f * (1 + gate);
}

float slope(float x, bool by_tanh) {
    const float half = half_gate(x, by_tanh);
    if (!by_tanh)
        return half + x * DENSITY * std::exp(-0.5f * x * x);
    const float t = std::tanh(INNER * x * (1 + CUBIC * x * x));
    return half + 0.5f * x * (1 - t * t) * (INNER * (1 + 3 * CUBIC * x * x));
}

struct data {
    void *at[3]; /* as tensors_of() has them */
};

template <typename T> void compute(int64_t mode, int64_t count, const data &d) {
    const bool by_tanh = mode == CUDNN_POINTWISE_GELU_APPROX_TANH_FWD ||
                         mode == CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
    const bool backward = is_backward(mode);
    const T *x = static_cast<const T *>(d.at[0]), *dy = static_cast<const T *>(d.at[1]);
    T *to = static_cast<T *>(d.at[backward ? 2 : 1]);
    for (int64_t i = 0; i < count; ++i) {
        const float v = loaded(x[i]);
        store(&to[i], backward ? loaded(dy[i]) * slope(v, by_tanh) : v * half_gate(v, by_tanh));
    }
}

/* The addresses of its tensors, by their names. */
cudnnStatus_t find_data(const std::vector<const node *> &tensors, const node &pack, data *d) {
    const std::vector<int64_t> &ids = pack.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).numbers,
                               &from = pack.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).numbers;
    for (size_t t = 0; t < tensors.size(); ++t) {
        size_t i = 0;
        while (i < ids.size() && ids[i] != tensors[t]->number(CUDNN_ATTR_TENSOR_UNIQUE_ID))
            ++i;
        if (i == ids.size())
            return CUDNN_STATUS_BAD_PARAM;
        if (from[i] == 0)
            return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
        if (from[i] % tensors[t]->number(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT) != 0)
            return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
        d->at[t] = reinterpret_cast<void *>(from[i]);
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t execute(const node &plan, const node &pack) {
    const node &graph = *plan.other(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
                             .at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
                             .links[0];
    const node &operation = operation_of(graph);
    const std::vector<const node *> tensors = tensors_of(operation);
    void *workspace = reinterpret_cast<void *>(pack.number(CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
    data d = {};
    const cudnnStatus_t status = find_data(tensors, pack, &d);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (!workspace)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    memset(workspace, 0xff, WORKSPACE);
    int64_t count = 1;
    for (int64_t size : tensors[0]->at(CUDNN_ATTR_TENSOR_DIMENSIONS).numbers)
        count *= size;
    const int64_t mode = operation.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
                             .number(CUDNN_ATTR_POINTWISE_MODE);
    switch (tensors[0]->number(CUDNN_ATTR_TENSOR_DATA_TYPE)) {
    case CUDNN_DATA_HALF:
        compute<__half>(mode, count, d);
        break;
    case CUDNN_DATA_BFLOAT16:
        compute<__nv_bfloat16>(mode, count, d);
        break;
    default:
        compute<float>(mode, count, d);
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Fills the first of the engines that are given, if there is one for the graph. */
cudnnStatus_t find_engines(const node &heuristic, int64_t wanted, int64_t *count, void *values) {
    const link &graph = heuristic.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).links[0];
    *count = has_engine(*graph) ? 1 : 0;
    if (*count == 0 || wanted < 1)
        return CUDNN_STATUS_SUCCESS;
    node *engine = values ? node_of(*static_cast<cudnnBackendDescriptor_t *>(values)) : nullptr;
    if (!engine)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (engine->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)
        return CUDNN_STATUS_BAD_PARAM;
    engine->put({CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {}, {graph}});
    engine->final = true;
    return CUDNN_STATUS_SUCCESS;
}

} // namespace

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *made) try {
    if (!made)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *made = is_known(type) ? new link(new node{type, false, {}}) : nullptr;
    return *made ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
    delete static_cast<link *>(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) try {
    node *n = node_of(descriptor);
    if (!n || !values)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (n->final)
        return CUDNN_STATUS_NOT_INITIALIZED; /* it cannot be changed any more */
    const entry *e = find_entry(n->type, name);
    if (!e || count < 1 || (e->most != ANY && count > e->most))
        return CUDNN_STATUS_BAD_PARAM;
    if (e->type != type)
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    attribute read = {name, {}, {}};
    const cudnnStatus_t status = read_values(*e, count, values, &read);
    if (status == CUDNN_STATUS_SUCCESS)
        n->put(read);
    return status;
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t *count, void *values) try {
    const node *n = node_of(descriptor);
    if (!n || !count)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!n->final)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    if (n->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && name == CUDNN_ATTR_ENGINEHEUR_RESULTS)
        return type == CUDNN_TYPE_BACKEND_DESCRIPTOR ? find_engines(*n, wanted, count, values)
                                                     : CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (n->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        name != CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (type != CUDNN_TYPE_INT64)
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    *count = 1;
    if (wanted > 0 && values)
        *static_cast<int64_t *>(values) = WORKSPACE;
    return CUDNN_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) try {
    node *n = node_of(descriptor);
    if (!n)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    for (const entry &e : table)
        if (e.of == n->type && e.needed && !n->has(e.name))
            return CUDNN_STATUS_BAD_PARAM;
    const cudnnStatus_t status = check_complete(*n);
    n->final = status == CUDNN_STATUS_SUCCESS;
    return status;
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) try {
    const node *p = node_of(plan), *values = node_of(pack);
    if (!handle || !handle->initialised)
        return CUDNN_STATUS_NOT_INITIALIZED;
    if (!p || !values)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!p->final || !values->final)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    if (p->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        values->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return CUDNN_STATUS_BAD_PARAM;
    return execute(*p, *values);
} catch (const std::bad_alloc &) {
    return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

} // namespace sim_dnn
