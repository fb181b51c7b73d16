#include "golden/chunks.h"

#include <stdlib.h>
#include <zlib.h>

/* gzip last, and before it nothing that changes the number of bytes. */
static bool is_gzip(hid_t list, int filters) {
    for (int i = 0; i < filters; ++i) {
        unsigned flags, config;
        size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter != (i + 1 < filters ? H5Z_FILTER_SHUFFLE : H5Z_FILTER_DEFLATE))
            return false;
    }
    return true;
}

/* Bytes that a chunk stands for; 0 where it would have more elements than the dataset. */
static size_t chunk_bytes(hid_t dataset, hid_t list, hssize_t elements) {
    hsize_t extent[H5S_MAX_RANK], count = 1;
    const int rank = H5Pget_chunk(list, H5S_MAX_RANK, extent);
    for (int a = 0; a < rank; ++a) {
        if (extent[a] == 0 || count > (hsize_t)elements / extent[a])
            return 0;
        count *= extent[a];
    }
    const hid_t type = H5Dget_type(dataset);
    const size_t size = H5Tget_size(type);
    H5Tclose(type);
    return rank > 0 ? (size_t)count * size : 0;
}

static bool inflates_to(size_t bytes, const unsigned char *stored, size_t size) {
    unsigned char *inflated = malloc(bytes + 1);
    uLongf got = bytes + 1; /* one more, to tell what is longer */
    const bool whole = inflated && uncompress(inflated, &got, stored, size) == Z_OK && got == bytes;
    free(inflated);
    return whole;
}

static bool chunk_is_whole(hid_t dataset, hid_t space, hsize_t index, size_t bytes) {
    hsize_t at[H5S_MAX_RANK], size = 0;
    haddr_t address;
    unsigned left_out = 0; /* filters that this chunk did not go through */
    uint32_t skipped = 0;
    if (H5Dget_chunk_info(dataset, space, index, at, &left_out, &address, &size) < 0 ||
        left_out != 0 || size > compressBound(bytes))
        return false;
    unsigned char *stored = malloc((size_t)size + 1);
    const bool whole = stored && H5Dread_chunk(dataset, H5P_DEFAULT, at, &skipped, stored) >= 0 &&
                       inflates_to(bytes, stored, (size_t)size);
    free(stored);
    return whole;
}

static bool all_are_whole(hid_t dataset, hid_t list) {
    const hid_t space = H5Dget_space(dataset);
    const hssize_t elements = H5Sget_simple_extent_npoints(space);
    const size_t bytes = elements > 0 ? chunk_bytes(dataset, list, elements) : 0;
    hsize_t chunks = 0;
    bool whole = elements == 0 || (bytes > 0 && H5Dget_num_chunks(dataset, space, &chunks) >= 0);
    for (hsize_t i = 0; whole && i < chunks; ++i)
        whole = chunk_is_whole(dataset, space, i, bytes);
    H5Sclose(space);
    return whole;
}

bool golden_chunks_are_whole(hid_t dataset) {
    const hid_t list = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = list < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(list);
    const int filters = layout == H5D_CHUNKED ? H5Pget_nfilters(list) : 0;
    bool whole = layout == H5D_COMPACT || layout == H5D_CONTIGUOUS ||
                 (layout == H5D_CHUNKED && filters == 0);
    if (filters > 0)
        whole = is_gzip(list, filters) && all_are_whole(dataset, list);
    H5Pclose(list);
    return whole;
}
