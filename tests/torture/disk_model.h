// What a disk may hold after a power failure: a model of a file system that keeps only what it was asked to.
//
// A file's bytes are safe once it was synced; until then, what it got since may be there, half of it, or zeros in its
// place. A name is safe once its directory was synced; until then, any of the changes to the directory since may have
// happened, whichever came first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/torture/file_calls.h"

namespace belfry::torture {

struct DiskFile {
  std::string bytes{};
  std::int64_t written = 0;  // when: a count of all writes
  auto operator<=>(const DiskFile&) const = default;
};
using Disk = std::map<std::string, DiskFile>;  // paths below the root; directories end in '/'

class DiskModel {
 public:
  DiskModel() : inodes_(1) { inodes_.front().is_directory = true; }

  void apply(const FileCall& call);
  // Calls `look` with everything that the disk may hold now.
  void for_each_outcome(const std::function<void(const Disk&)>& look) const;

 private:
  struct Inode {
    bool is_directory = false;
    std::string now, safe;  // of a file
    std::int64_t written = 0;
    std::map<std::string, std::size_t> entries, durable;  // of a directory
    struct Change {
      std::string name, from;  // from: of a rename, which takes that name away
      std::size_t inode = 0;
      bool removes = false;
    };
    std::vector<Change> pending;
  };

  std::size_t directory_of(const std::string& path);
  std::size_t at(const std::string& path);
  void change(const std::string& directory, Inode::Change change);
  Disk outcome(unsigned changes, int content) const;

  std::int64_t clock_ = 0;
  std::vector<Inode> inodes_;
};

}  // namespace belfry::torture
