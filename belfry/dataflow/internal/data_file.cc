#include "belfry/dataflow/internal/data_file.h"

#include <filesystem>

#include "belfry/base/check.h"

namespace belfry {

void check_data(const std::string& directory, std::string_view split, const DataCaller& caller) {
  BELFRY_CHECK(split == "train" || split == "test", "[{}] expected \"train\" or \"test\", got \"{}\".", caller.name,
               split);
  std::error_code ignored;  // what cannot be looked at counts as absent
  BELFRY_CHECK_AS(FileError, std::filesystem::is_directory(directory, ignored),
                  "[{}] expected a directory with the data, got '{}', which is not one. {}", caller.name, directory,
                  caller.remedy);
}

std::string find_data_file(const std::string& directory, const std::string& file, const DataCaller& caller) {
  std::error_code ignored;
  const std::filesystem::path plain = std::filesystem::path(directory) / file;
  std::filesystem::path found = plain;
  if (!std::filesystem::exists(found, ignored)) found += ".gz";
  BELFRY_CHECK_AS(FileError, std::filesystem::exists(found, ignored),
                  "[{}] expected the file '{}' or '{}', found neither. {}", caller.name, plain.string(), found.string(),
                  caller.remedy);
  return found.string();
}

}  // namespace belfry
