// Thousands of damaged inputs: each is refused with an Error or read.
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/random_flows.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/idx.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/idx_files.h"
#include "tests/support/arrays.h"
#include "tests/support/mutations.h"

namespace belfry {
namespace {

using testing_support::Mutator;
using testing_support::sum_of_all;
using testing_support::survive;
using testing_support::Survived;

TEST(Mutation, DamagedIdxFilesAreRefusedOrRead) {
  const TemporaryFiles files;
  const std::string good = idx_bytes(0x0C, {2, 3, 1}, std::string(24, '\1'));
  Mutator mutate(1);
  const auto damaged = [&] {
    const std::string packed = gzip(good);
    return mutate.coin() ? mutate(good) : mutate.coin() ? gzip(mutate(good)) : mutate(packed);
  };
  const Survived survived = survive(4000, damaged, [&](const std::string& bytes) {
    sum_of_all({{"array", read_idx(files.write("damaged", bytes))}});
  });
  EXPECT_GT(survived.refused, 2000);
  EXPECT_GT(survived.read, 30);
}

TEST(Mutation, DamagedStatesOfFlowsAreRefusedOrRestored) {
  Flow staged = numbered(9) | shuffle(1) | repeat(2) | shuffle_local(4) | batch(2);
  Flow joined = zip({random_mix({numbered(9), numbered(7)}), numbered(7) | repeat_each(3)}) | batch_by_shape(3);
  Flow resized = concat({numbered(5), numbered(9)}) | shard({.rank = 0, .size = 2}) | fixed_size(20);
  // The longer the state, the fewer changes fall on a number that may be another.
  for (const auto& [tried, least_read] : std::vector<std::pair<Flow, int>>{{staged, 15}, {joined, 15}, {resized, 15}}) {
    Flow flow = tried;
    SCOPED_TRACE(flow.describe());
    flow.next();
    const std::string good = to_string(flow.state());
    Mutator mutate(2);
    const Survived survived = survive(
        4000, [&] { return mutate(good); },
        [&](const std::string& text) {
          flow.restore(flow_state_from_string(text));
          if (const auto point = flow.next()) sum_of_all({{"point", (*point)[0]}});
        });
    EXPECT_GT(survived.refused, 2000);
    EXPECT_GT(survived.read, least_read);
  }
}

}  // namespace
}  // namespace belfry
