// belfry convert, rename and drop: the tensors of one file, changed, in another.
#pragma once

#include <string>
#include <vector>

namespace belfry::tools {

struct OutputOptions {
  std::string file{};
  bool force = false;     // replaces what is there
  bool compress = false;  // an .npz
  bool json = false;
};

struct ConvertOptions {
  std::string input{};
  bool model_only = false;  // without what belongs to the run
  OutputOptions output{};
};

struct RenameOptions {
  std::string input{};
  std::vector<std::string> expressions{};  // see parse_renaming()
  bool dry_run = false;
  OutputOptions output{};
};

struct DropOptions {
  std::string input{};
  std::vector<std::string> expressions{};
  bool dry_run = false;
  OutputOptions output{};
};

// All print what they did to stdout.
void convert_weights(const ConvertOptions& options);
void rename_weights(const RenameOptions& options);
void drop_weights(const DropOptions& options);

}  // namespace belfry::tools
