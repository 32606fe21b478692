#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/sources/function.h"
#include "tests/dataflow/remote/remote_testing.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

// A gtest that waits forever does not say why.
constexpr double kLong = 60;

TEST_F(RemoteTest, PointsArriveInOrderAndTheSenderKnowsOfIt) {
  Flow flow = from_remote(address, {.timeout = kLong});
  SendingThread sender(numbered(100), address);
  expect_same(points_left(flow), points_left(numbered(100)));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(sender.outcome(), "no error");
  EXPECT_EQ(sender.points(), 100);
  EXPECT_EQ(flow.describe(), "remote(\"" + address + "\")");
  EXPECT_EQ(flow.size(), std::nullopt);
}

TEST_F(RemoteTest, EitherSideMayBindAndTheSystemMayChooseThePort) {
  std::string bound;
  Flow flow = from_remote("tcp://127.0.0.1:*", {.timeout = kLong, .bound = [&](const std::string& a) { bound = a; }});
  EXPECT_TRUE(bound.starts_with("tcp://127.0.0.1:")) << bound;
  SendingThread sender(numbered(5), bound);
  EXPECT_EQ(drain(flow), upto(5));
  EXPECT_EQ(sender.outcome(), "no error");

  SendingThread binding(numbered(6), address, {.bind = true});
  EXPECT_EQ(drain(from_remote(address, {.bind = false, .timeout = kLong})), upto(6));
  EXPECT_EQ(binding.outcome(), "no error");
}

TEST_F(RemoteTest, APassHasThePointsOfAllSenders) {
  Flow flow = from_remote(address, {.senders = 3, .timeout = kLong});
  SendingThread a(numbered(50), address), b(numbered(20), address), c(numbered(0), address);
  std::vector<int> values = drain(flow), wanted = upto(50);
  for (const int value : upto(20)) wanted.push_back(value);
  std::ranges::sort(values);
  std::ranges::sort(wanted);
  EXPECT_EQ(values, wanted);
  for (SendingThread* sender : {&a, &b, &c}) EXPECT_EQ(sender->outcome(), "no error");
}

TEST_F(RemoteTest, PassesAreTheEpochsOfTheSendersFlow) {
  Flow flow = from_remote(address, {.timeout = kLong});
  Flow source = numbered(3) | map([epoch = 0](DataPoint point) mutable {
                  if (point[0].item() == 0) ++epoch;
                  return DataPoint{Array(static_cast<int>(point[0].item()) + 10 * epoch)};
                });
  SendingThread sender(source, address, {.passes = 3});
  EXPECT_EQ(drain(flow), (std::vector<int>{10, 11, 12}));
  EXPECT_EQ(pass(flow, 1), (std::vector<int>{20, 21, 22}));
  EXPECT_EQ(flow.epoch(), 1u);
  EXPECT_EQ(pass(flow, 2), (std::vector<int>{30, 31, 32}));
  EXPECT_EQ(sender.points(), 9);
}

TEST_F(RemoteTest, ANewPassDropsTheRestOfTheOneThatWasBegun) {
  Flow flow = from_remote(address, {.timeout = kLong});
  SendingThread sender(numbered(40), address, {.passes = 2});
  flow.next(), flow.next();
  EXPECT_EQ(pass(flow, 1), upto(40));
  EXPECT_EQ(sender.points(), 80);
}

TEST_F(RemoteTest, ASenderWaitsForAReceiverThatIsBehind) {
  Flow flow = from_remote(address, {.high_water = 1});
  Flow large = numbered(100) | map([](DataPoint point) {
                 point.push_back(Array::zeros(u8, {1 << 20}));
                 return point;
               });
  SendingThread sender(large, address, {.high_water = 1, .timeout = 0.5});
  EXPECT_EQ((*flow.next())[0].item(), 0);
  // Had it not been held up, it would wait for the receipt.
  const std::string outcome = sender.outcome();
  EXPECT_TRUE(outcome.starts_with("[send_points] expected the receiver at '" + address +
                                  "' to take a point within 0.5 "
                                  "s, got nothing, after "))
      << outcome;
}

TEST_F(RemoteTest, ASenderWithoutAReceiverGivesUpOrIsStopped) {
  SendingThread waiting(numbered(3), address, {.timeout = 0.2});
  EXPECT_EQ(waiting.outcome(), "[send_points] expected the receiver at '" + address +
                                   "' to say that it got everything within 0.2 s, got nothing, after 3 point(s). Is "
                                   "it running?");
  SendingThread stopped(numbered(1000), address);
  EXPECT_TRUE(contains(stopped.stop(), "but .stop ended it after "));
}

TEST_F(RemoteTest, AnErrorOfTheSendersFlowArrivesAfterThePointsBeforeIt) {
  Flow flow = from_remote(address, {.timeout = kLong});
  const Flow failing = numbered(10) | map([](DataPoint point) {
                         if (point[0].item() == 3) throw FileError("no such luck");
                         return point;
                       });
  SendingThread sender(failing, address);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*flow.next())[0].item(), i);
  EXPECT_EQ(error_of([&] { flow.next(); }),
            "[from_remote] a sender's flow failed, as " + message() +
                " says: [map] the function of 'list | map' failed at point 3 of epoch 0: no such luck");
  EXPECT_TRUE(contains(sender.outcome(), "no such luck"));
  EXPECT_EQ(flow.next(), std::nullopt);
  SendingThread another(numbered(4), address);
  EXPECT_EQ(pass(flow, 1), upto(4));
}

TEST_F(RemoteTest, AnErrorOfTheSendersFlowIsThrownThoughNobodyIsThereToBeTold) {
  const auto send = [&](const SendOptions& options) {
    const Flow failing = from_function([](std::int64_t) -> DataPoint { throw FileError("no such luck"); });
    return error_of([&] { send_points(failing, address, options); });
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto late = [&] { return std::chrono::steady_clock::now() - begin > std::chrono::seconds(20); };
  EXPECT_TRUE(contains(send({.stop = late}), "no such luck"));
  EXPECT_TRUE(contains(send({.bind = true, .stop = late}), "no such luck"));
  EXPECT_FALSE(late());
}

TEST_F(RemoteTest, AReceiverThatIsLongBehindIsToldOfTheError) {
  Flow flow = from_remote(address, {.timeout = kLong});
  const Flow failing = numbered(10) | map([](DataPoint point) {
                         if (point[0].item() == 3) throw FileError("no such luck");
                         return point;
                       });
  SendingThread sender(failing, address);
  EXPECT_EQ((*flow.next())[0].item(), 0);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  flow.next(), flow.next();
  EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "no such luck"));
}

TEST_F(RemoteTest, GarbageNamesThePeerAndTheFlowGoesOn) {
  std::string bound;
  Flow flow = from_remote("tcp://127.0.0.1:*", {.timeout = kLong, .bound = [&](const std::string& a) { bound = a; }});
  RawPeer peer(bound);
  const std::string where = "a message from 127.0.0.1 at '" + bound + "'";
  peer.send({std::string("hello")});
  peer.send({"two", "parts"});
  peer.point(0, 0);
  peer.send({WireKind::point, 1, 0, 1}, "nonsense");
  peer.send({WireKind::received, 1, 0, 2});
  peer.point(0, 2);
  peer.end(0, 3);
  const auto error = [&] { return error_of<FileError>([&] { flow.next(); }); };
  EXPECT_EQ(error(), "[from_remote] expected a message of at least 32 bytes in " + where +
                         ", got 5. Is the peer a send_points()?");
  EXPECT_EQ(error(), "[from_remote] expected " + where +
                         " of one part, got several or none. Is the peer a "
                         "send_points()?");
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_EQ(error(), "[decode] expected a datapoint, which begins with 'BDP1', in " + where + ", got something else.");
  EXPECT_EQ(error(), "[from_remote] expected points in " + where +
                         ", got a receiver's reply. Are two receivers connected to each other?");
  EXPECT_EQ(drain(flow), std::vector<int>{2});
}

TEST_F(RemoteTest, LostPointsAreNoticedAndNothingElseIsLost) {
  Flow flow = from_remote(address, {.timeout = kLong});
  RawPeer peer(address);
  peer.point(0, 0);
  peer.point(0, 2);
  peer.end(0, 5);
  peer.point(1, 0);
  peer.point(2, 7);  // the end of pass 1 is missing
  peer.end(2, 8);
  const auto error = [&] { return error_of<FileError>([&] { flow.next(); }); };
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_EQ(error(), "[from_remote] expected point 1 of pass 0, got 2 of pass 0 in " + message() +
                         ". Points were lost: a connection broke, a message was larger than .max_message_bytes, or "
                         "another receiver takes them.");
  EXPECT_EQ((*flow.next())[0].item(), 2);
  EXPECT_TRUE(contains(error(), "expected point 3 of pass 0, got 5 of pass 0"));
  EXPECT_EQ(flow.next(), std::nullopt);
  flow.start_epoch(1);
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_TRUE(contains(error(), "expected point 1 of pass 1, got 7 of pass 2"));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(pass(flow, 2), std::vector<int>{7});
}

TEST_F(RemoteTest, TheEndsOfAllPassesThatWereLostCount) {
  Flow flow = from_remote(address, {.senders = 2, .timeout = kLong});
  RawPeer peer(address);
  peer.point(0, 0);
  peer.point(5, 3);  // the ends of passes 0 to 4 are missing: two of ours and a half
  peer.end(5, 4);
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_TRUE(contains(error_of<FileError>([&] { flow.next(); }), "expected point 1 of pass 0, got 3 of pass 5"));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_TRUE(pass(flow, 1).empty());
  EXPECT_EQ(pass(flow, 2), std::vector<int>{3});
}

TEST_F(RemoteTest, APassThatNoSenderReachesDoesNotFillTheMemory) {
  Flow flow = from_remote(address, {.timeout = kLong});
  RawPeer peer(address);
  peer.point(0, 0);
  peer.point(~std::uint64_t{0}, 7);
  peer.point(0, 1);  // back again: no pass ends by that
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_TRUE(contains(error_of<FileError>([&] { flow.next(); }), "got 7 of pass 18446744073709551615"));
  std::uint64_t passes = 0;
  std::optional<DataPoint> point;
  for (; !(point = flow.next()); flow.start_epoch(++passes)) ASSERT_LE(passes, 100'000u);
  EXPECT_GT(passes, 0u);
  EXPECT_EQ((*point)[0].item(), 7);
  EXPECT_TRUE(contains(error_of<FileError>([&] { flow.next(); }), "got 1 of pass 0"));
  EXPECT_EQ((*flow.next())[0].item(), 1);
}

TEST_F(RemoteTest, AMessageThatIsTooLargeIsNotReceived) {
  Flow flow = from_remote(address, {.timeout = kLong, .max_message_bytes = 10'000});
  const Flow source = numbered(3) | map([](DataPoint point) {
                        if (point[0].item() == 1) point.push_back(Array::zeros(u8, {20'000}));
                        return point;
                      });
  SendingThread sender(source, address, {.passes = kForever});
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_TRUE(contains(error_of<FileError>([&] { flow.next(); }), "a message was larger than .max_message_bytes"));
}

TEST_F(RemoteTest, SilenceIsAnErrorIfATimeoutIsGiven) {
  Flow flow = from_remote(address, {.timeout = 0.1});
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            "[from_remote] expected a message at '" + address + "' within 0.1 s, got none. Are the senders running?");
  RawPeer peer(address);
  peer.point(0, 0);
  while (true) {  // the connection takes its time
    try {
      EXPECT_EQ((*flow.next())[0].item(), 0);
      break;
    } catch (const FileError&) {
    }
  }
}

TEST_F(RemoteTest, CancelEndsAWaitUntilAPassIsBegun) {
  Flow flow = from_remote(address);
  std::string text;
  std::thread consumer([&] { text = error_of<Cancelled>([&] { flow.next(); }); });
  flow->cancel();
  consumer.join();
  const std::string cancelled = "[from_remote] expected a point at '" + address + "', but the flow was cancelled.";
  EXPECT_EQ(text, cancelled);
  EXPECT_EQ(error_of<Cancelled>([&] { flow.next(); }), cancelled);
  flow.start_epoch(0);
  SendingThread sender(numbered(3), address);
  EXPECT_EQ(drain(flow), upto(3));
}

TEST_F(RemoteTest, AFlowThatReadsAheadCanBeDestroyedWhileItWaits) {
  const RawPeer peer(address);
  for (int i = 0; i < 3; ++i) {
    Flow flow = from_remote(address) | batch(2) | prefetch(2);
    std::thread consumer([&] { EXPECT_THROW(flow.next(), Error); });
    flow->cancel();
    consumer.join();
  }
}

TEST_F(RemoteTest, RestoreGoesBackAsFarAsReplayReaches) {
  Flow flow = from_remote(address, {.timeout = kLong, .replay = 30});
  SendingThread sender(numbered(8), address, {.passes = 2});
  std::vector<FlowState> states;
  std::vector<std::vector<int>> rests;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    flow.start_epoch(epoch);
    for (int i = 0; i <= 8; ++i) {
      states.push_back(flow.state());
      std::vector<int> rest = upto(8);
      rests.emplace_back(rest.begin() + i, rest.end());
      flow.next();
    }
  }
  EXPECT_EQ(sender.outcome(), "no error");
  for (std::size_t at = 0; at < states.size(); ++at) {
    flow.restore(flow_state_from_string(to_string(states[at])));
    EXPECT_EQ(flow.state(), states[at]);
    EXPECT_EQ(drain(flow), rests[at]) << at;
    if (at < 9) {
      EXPECT_EQ(pass(flow, 1), upto(8));
    }
  }
}

TEST_F(RemoteTest, RestoreFartherBackIsAnError) {
  Flow flow = from_remote(address, {.timeout = kLong, .replay = 2});
  SendingThread sender(numbered(8), address);
  const FlowState start = flow.state();
  for (int i = 0; i < 3; ++i) flow.next();
  EXPECT_EQ(error_of([&] { flow.restore(start); }),
            "[restore] expected a position at most 2 points back, got one that is 3 away: 'remote(\"" + address +
                "\")' is a stream, which cannot be rewound. Set .replay to the number of points that are read ahead of "
                "the consumer.");
  FlowState later = flow.state();
  later.numbers[2].second += 9;
  EXPECT_TRUE(contains(error_of([&] { flow.restore(later); }), "got one that is 9 away"));
  later = flow.state();
  later.numbers[3].second = 3;
  EXPECT_EQ(error_of([&] { flow.restore(later); }),
            "[restore] expected a phase of at most 2 in 'remote', got 3. The state is damaged.");
  EXPECT_EQ(drain(flow), (std::vector<int>{3, 4, 5, 6, 7}));
}

TEST_F(RemoteTest, OfPassesWithoutPointsNoMoreIsKeptThanReplayAsksFor) {
  constexpr std::size_t kPasses = 12, kReplay = 2;
  Flow flow = from_remote(address, {.timeout = kLong, .replay = kReplay});
  SendingThread sender(numbered(0), address, {.passes = kPasses});
  std::vector<FlowState> states;
  for (std::size_t epoch = 0; epoch < kPasses; ++epoch) {
    flow.start_epoch(epoch);
    states.push_back(flow.state());
    EXPECT_EQ(flow.next(), std::nullopt);
  }
  EXPECT_EQ(sender.outcome(), "no error");
  for (std::size_t back = 1; back <= kReplay + 1; ++back) {
    flow.restore(states[kPasses - back]);
    EXPECT_EQ(flow.next(), std::nullopt);
    for (std::size_t epoch = kPasses - back + 1; epoch < kPasses; ++epoch) EXPECT_TRUE(pass(flow, epoch).empty());
  }
  EXPECT_TRUE(contains(error_of([&] { flow.restore(states[kPasses - kReplay - 2]); }), "got one that is 4 away"));
  EXPECT_TRUE(contains(error_of([&] { flow.restore(states[0]); }), "got one that is 12 away"));
}

// As when a training is resumed from a checkpoint, in a new process, while the senders went on.
TEST_F(RemoteTest, ANewFlowTakesAnyStateAndGoesOnWithWhatComes) {
  const FlowState saved{"remote", {{"epoch", 3}, {"position", 70}, {"events", 400}, {"phase", 0}}, {}};
  Flow flow = from_remote(address, {.timeout = kLong});
  flow.restore(saved);
  EXPECT_EQ(flow.state(), saved);
  EXPECT_EQ(flow.epoch(), 3u);
  RawPeer peer(address);
  peer.point(5, 71);
  peer.end(5, 72);
  EXPECT_EQ(drain(flow), std::vector<int>{71});
  EXPECT_EQ(flow.state().at("position"), 71u);
}

TEST_F(RemoteTest, StagesAboveSeeThePassesOfTheSender) {
  Flow flow = from_remote(address, {.timeout = kLong}) | batch(2) | repeat() | prefetch(3);
  SendingThread sender(numbered(4), address, {.passes = kForever});
  for (int i = 0; i < 20; ++i) EXPECT_EQ((*flow.next())[0].item(), (2 * i) % 4);
  const FlowState state = flow.state();
  flow.restore(state);  // what was read ahead comes again
  for (int i = 20; i < 30; ++i) EXPECT_EQ((*flow.next())[0].item(), (2 * i) % 4);
  EXPECT_TRUE(contains(sender.stop(), "but .stop ended it"));
}

TEST_F(RemoteTest, AnotherProcessSends) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool sent = error_of([&] { send_points(numbered(20), address, {.timeout = kLong}); }) == "no error";
    ::_exit(sent ? 0 : 1);
  }
  EXPECT_EQ(drain(from_remote(address, {.timeout = kLong})), upto(20));
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(RemoteTest, RefusesWhatCannotWork) {
  EXPECT_EQ(error_of([] { from_remote("localhost:1234"); }),
            "[from_remote] expected an address like tcp://host:port or ipc://path, got 'localhost:1234'.");
  EXPECT_EQ(error_of([] { from_remote("inproc://x"); }),
            "[from_remote] expected an address like tcp://host:port or ipc://path, got 'inproc://x'. Within one "
            "process, prefetch() and map() have threads.");
  Flow flow = from_remote("tcp://127.0.0.1:*");
  const std::string taken = flow.describe().substr(8, flow.describe().size() - 10);
  EXPECT_EQ(error_of<FileError>([&] { from_remote(taken); }),
            "[from_remote] cannot bind '" + taken + "': Address already in use.");
  EXPECT_EQ(error_of([] { from_remote("tcp://127.0.0.1:99999"); }),
            "[from_remote] expected a port of at most 65535, got 'tcp://127.0.0.1:99999'.");
  EXPECT_EQ(error_of<FileError>([] { send_points(numbered(1), "tcp://nonsense"); }),
            "[send_points] cannot connect to 'tcp://nonsense': Invalid argument. Write tcp://host:port or ipc://path.");
  EXPECT_EQ(error_of([&] { from_remote(address, {.senders = 0}); }),
            "[from_remote] expected 1 or more .senders, got 0.");
  EXPECT_EQ(error_of([&] { from_remote(address, {.high_water = 0}); }),
            "[from_remote] expected a .high_water of at least 1 point, got 0.");
  EXPECT_EQ(error_of([&] { send_points(numbered(1), address, {.passes = 0}); }),
            "[send_points] expected 1 or more .passes, or kForever, got 0.");
}

}  // namespace
}  // namespace belfry
