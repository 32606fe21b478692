// For tests/python/files_test.py: test_exchange FROM TO reads all arrays of one file and writes them to the other. The
// extensions decide the formats.
#include <belfry/belfry.h>

#include <cstdio>
#include <exception>
#include <string>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string from = arguments[1], to = arguments[2];
  try {
    const auto arrays = from.ends_with(".npz") ? belfry::read_npz(from) : belfry::read_safetensors(from).tensors;
    if (to.ends_with(".npz"))
      belfry::write_npz(to, arrays);
    else
      belfry::write_safetensors(to, arrays);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
