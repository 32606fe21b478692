// Belfry::images is loaded because it is linked, also by a linker that drops what is not named.
#include <belfry/dataflow/image/augmentor.h>
#include <belfry/dataflow/image/geometry.h>

int main() {
  const belfry::Augmentor smaller = belfry::resize(2, belfry::Interpolation::area);
  belfry::RandomStream random(0);
  return smaller.sample({4, 4, 3}, random).result() == belfry::Shape{2, 2, 3} ? 0 : 1;
}
