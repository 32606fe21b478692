// The code of docs/dataflow.md on points from other processes.
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/prefetch.h"
#include "tests/dataflow/remote/remote_testing.h"

namespace bf = belfry;

namespace belfry {
namespace {

TEST_F(RemoteTest, TheCodeOfThePageWorks) {
  std::string outcome;
  std::thread sender([&] {
    const Flow flow = numbered(6);
    outcome = error_of([&] { bf::send_points(flow, address, {.passes = 2, .timeout = 60}); });
  });
  bf::Flow train = bf::from_remote(address, {.senders = 1, .timeout = 60}) | bf::batch(3) | bf::prefetch(2);

  EXPECT_EQ(drain(train), upto(6));
  EXPECT_EQ(pass(train, 1), upto(6));
  sender.join();
  EXPECT_EQ(outcome, "no error");
}

}  // namespace
}  // namespace belfry
