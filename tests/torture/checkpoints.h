// What the campaigns save, and how they tell that it is whole.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "belfry/array/array.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/checkpoint_writer.h"

namespace belfry::torture {

// Every element says which save it is of.
std::map<std::string, Array> values_of(std::int64_t step, std::int64_t elements);

// "" if all values and the state are of the same save, otherwise what is wrong.
std::string mix_in(const Checkpoint& checkpoint);

// "" if the newest complete checkpoint is of this step or a later one, otherwise what is wrong.
std::string loss_in(const std::string& directory, const std::string& index, std::int64_t acknowledged);

// A directory in memory where there is one, and otherwise on the disk.
class FastDirectory {
 public:
  FastDirectory();
  ~FastDirectory();
  FastDirectory(const FastDirectory&) = delete;
  FastDirectory& operator=(const FastDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace belfry::torture
