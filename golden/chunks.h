/* A check of compressed data that HDF5 1.10 does not make. */
#ifndef ASSAY_GOLDEN_CHUNKS_H
#define ASSAY_GOLDEN_CHUNKS_H

#include <hdf5.h>

#include <stdbool.h>

/*
 * Whether each chunk of the dataset is known to inflate to the bytes that it stands for: HDF5 takes
 * inflated bytes for a whole chunk, and reads on behind them. Always where nothing is compressed;
 * never where other filters than gzip, with or without shuffle, are at work, or a call fails.
 */
bool golden_chunks_are_whole(hid_t dataset);

#endif
