// A program as users write them: it sees the installed headers and the installed library, nothing of the source tree.
#include <belfry/array/array.h>
#include <belfry/base/error.h>

#include <cstdio>

namespace bf = belfry;

int main() {
  const bf::Array a = bf::Array::of<float>({2, 2}, {1, 2, 3, 4});
  double sum = 0;
  for (float value : a.values<float>()) sum += value;
  if (sum != 10) return 1;
  try {
    a.values<double>();
    return 2;
  } catch (const bf::Error& error) {  // an exception's type is the same on both sides of the library's border
    std::printf("%s\n", error.what());
  }
  return 0;
}
