// The files of a known dataset in a directory: found plain or gzipped, with errors that name who asks.
#pragma once

#include <string>
#include <string_view>

namespace belfry {

// Who asks, and what a user can do if the data are not there.
struct DataCaller {
  const char* name;
  const char* remedy;
};

// Throws unless `split` is "train" or "test" and the directory is one.
void check_data(const std::string& directory, std::string_view split, const DataCaller& caller);

// The path of `file` or of `file`.gz; FileError if there is neither.
std::string find_data_file(const std::string& directory, const std::string& file, const DataCaller& caller);

}  // namespace belfry
