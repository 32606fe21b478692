// A program of the engine and the testing backend, without engine/cpu: that it links is the test. See CMakeLists.txt.
#include <cstdio>

#include "belfry/engine/backend.h"

int main() {
  const bool only_test = belfry::device_kinds() == std::vector<std::string>{"test"};
  std::puts(only_test ? "the engine's only kind of device is \"test\"" : "expected \"test\" alone");
  return only_test && belfry::backend_of("test").make_variables() != nullptr ? 0 : 1;
}
