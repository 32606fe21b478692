// LMDB databases: one file of points in any order, paged in as they are read, shared between processes.
//
//   write_lmdb(folder("train") | map(resize), "train.lmdb");
//   Flow train = from_lmdb("train.lmdb") | shuffle() | map(augment, {.threads = 8}) | batch(128);
//
// Databases are opened read-only and without LMDB's lock file, so that they may lie where nobody can write. Nobody may
// change one while it is read; write_lmdb() never does, it puts a new one in its place. LMDB trusts its own pages: what
// lies in the records is checked, but a database from somebody who means harm must not be opened.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct WriteLmdbOptions {
  // Called now and then, and at the end: points written so far, and the flow's size if that is known.
  std::function<void(std::int64_t, std::optional<std::int64_t>)> progress = nullptr;
};

// Stores one pass of the flow, epoch 0, as points by number. The database is a single file that appears under its name
// when it is complete and on the disk; until then, and after an error, what was at the path stays as it was. It grows
// with what is written. Returns the number of points.
std::int64_t write_lmdb(Flow flow, const std::string& path, const WriteLmdbOptions& options = {});

struct LmdbOptions {
  bool shuffle = false;    // in another order each epoch, as with | shuffle(seed)
  std::uint64_t seed = 0;  // of the shuffling
};

// The points of a database that write_lmdb() wrote. Random access, from any number of threads; each point is in memory
// of its own. A record that is damaged is a FileError which names its key.
Flow from_lmdb(const std::string& path, LmdbOptions options = {});

// Any LMDB database, a file or a directory with a data.mdb: points {key u8 [k], value u8 [n]} in the order of the keys,
// with random access. All keys are read, and kept, when it is opened.
Flow from_lmdb_bytes(const std::string& path);

}  // namespace belfry
#pragma GCC visibility pop
