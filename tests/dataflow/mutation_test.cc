// Thousands of damaged inputs: each is refused with an Error or read.
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/idx.h"
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
  Flow flow = numbered(9) | shuffle(1) | repeat(2) | shuffle_local(4) | batch(2);
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
  EXPECT_GT(survived.read, 30);
}

}  // namespace
}  // namespace belfry
