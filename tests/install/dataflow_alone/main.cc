// A program that uses data pipelines and nothing else: no graph, no session, no oneDNN.
#include <belfry/dataflow/batch.h>
#include <belfry/dataflow/map.h>
#include <belfry/dataflow/prefetch.h>
#include <belfry/dataflow/print_points.h>
#include <belfry/dataflow/shuffle.h>
#include <belfry/dataflow/sources/fake.h>

#include <cstdio>

namespace bf = belfry;

int main() {
  bf::Flow flow = bf::fake_data({{.shape = {2, 2}}, {.dtype = bf::i32, .high = 10}}, {.size = 10}) | bf::shuffle(7) |
                  bf::map([](bf::DataPoint point) { return point; }, {.threads = 2}) | bf::batch(4) | bf::prefetch(2);
  int batches = 0;
  for (bf::DataPoint& point : flow) {
    std::printf("%s\n", bf::describe_point(point, 4).c_str());
    if (point[0].shape() != bf::Shape{4, 2, 2}) return 1;
    ++batches;
  }
  return batches == 2 ? 0 : 2;
}
