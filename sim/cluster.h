/*
 * Clusters: blocks that begin together and reach each other's shared memory. A kernel's address of
 * 32 bits in shared::cluster has the block's rank + 1 in its upper 8 bits; 0 there is the block's
 * own.
 */
#ifndef ASSAY_SIM_CLUSTER_H
#define ASSAY_SIM_CLUSTER_H

#include "sim/block.h"
#include "sim/proxy.h"

enum { SIM_MOST_CLUSTER = 16, SIM_CLUSTER_SHIFT = 24 };

/* Of the launches to come: blocks along x, y, z. 1, 1, 1 at first. */
void sim_cluster_shape(const uint32_t shape[3]);

/* Of the launch: how many blocks a cluster has, how many clusters there are; the number in the grid
 * of a cluster's block. */
uint32_t sim_cluster_size(void);
uint64_t sim_cluster_count(const sim_launch *launch);
uint64_t sim_cluster_block(const sim_launch *launch, uint64_t cluster, uint32_t rank);

/* A cluster begins: the next blocks that begin are its. NULL: no memory. */
typedef struct sim_cluster sim_cluster;
sim_cluster *sim_cluster_begin(void);
/* The launch has ended: those of blocks that did not end go. */
void sim_clusters_forget(void);
/* A block of it begins, is the one that runs, ends; the last one frees it. */
uint32_t sim_cluster_join(sim_cluster *cluster, const sim_range *shared);
void sim_cluster_use(sim_cluster *cluster, uint32_t rank);
void sim_cluster_leave(sim_cluster *cluster, uint32_t rank);

/* Functions for instructions, about the cluster of the thread that runs; more are in proxy.h. */
void sim_cluster_exit(void); /* the thread ends */
uint32_t sim_cluster_rank(void);
char *sim_cluster_address(uint32_t address, const sim_site *site);
uint32_t sim_cluster_map(uint32_t address, uint32_t rank, const sim_site *site);
/* The rank, in the cluster that runs, of the block whose shared memory holds it; false: no block's.
 */
bool sim_cluster_find(const volatile void *address, uint32_t *rank, sim_range *range);

#endif
