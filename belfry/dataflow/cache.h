// Keeping points that are costly to make, in memory or in a file.
//
//   Flow train = folder("train") | map(decode) | cache_in_memory() | shuffle() | map(augment) | batch(128);
//
// A cache reads one pass of its source, epoch 0, and gives these points in every pass. So what differs from pass to
// pass (a shuffle(), a map() with random numbers) is frozen if it comes before a cache: put it after. Points can
// be read in any order, even if those of the source cannot, and so be shuffled. The source must have an end: an endless
// repeat() belongs after the cache. size() is the source's own; if that is unknown, it stays so even when all points
// have been read, because a flow's size never changes. A stage that needs the number of points, as shuffle() does,
// counts them, and the size of a shuffle() is then known.
#pragma once

#include <string>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// Points are read from the source when they are first needed, and are then kept: the first pass costs what it costs
// without a cache, the others nothing. What counts them reads all that are left. After restore() in a new flow, the
// first next() reads the points before the position too. The kept arrays are shared with what is given out, not copied.
// After an error of the source, start_epoch() or restore() starts reading from the beginning; after a cancel it
// continues after what is kept.
FlowStage cache_in_memory();

struct DiskCacheOptions {
  // What distinguishes these points from others that the same composition would make: "train-v1".
  std::string key{};
};

// The points are in one file, which is written, if it is not there, when the first of them is needed: then the whole
// pass is read, with 12 bytes of memory per point. The file appears at `path` when it is complete, so that a process
// that ends on the way leaves what was there; of two that write at once the last one's file stays. Later processes take
// the points from the file and read nothing from the source.
//
// The file names the key and the source's size and identity (see flow_identity.h), with the paths that it reads. If
// they differ, the file is stale: that is an error when the flow is composed, and the file is left alone. Contents that
// they do not show (the code of a map()'s function, the files of a folder) need another key when they change. Every
// point has a checksum: one that is damaged is a FileError when it is read. The file must not be changed in place while
// it is in use.
FlowStage cache_on_disk(std::string path, DiskCacheOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
