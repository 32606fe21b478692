// A session is used by one thread at a time: who comes while another's call is running is told so, and nothing breaks.
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

// What a kernel waits at: the test knows that the kernel is there, and lets it go on.
class KernelGate {
 public:
  void wait_inside() {
    std::unique_lock lock(mutex_);
    inside_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    inside_ = open_ = false;
  }
  void wait_until_inside() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool inside_ = false, open_ = false;
};

std::function<void()> inside_kernel;  // set by each test before it runs anything

const OpRegistration calling_op = define_op("SessionThreadsCalling")
                                      .input("x")
                                      .output("y")
                                      .shape([](const ShapeContext& c) { return c.input(0); })
                                      .kernel([](std::span<const Array> in, std::span<Array> out) {
                                        if (inside_kernel) inside_kernel();
                                        out[0].set_item(0, in[0].item() + 1);
                                      })
                                      .not_differentiable()
                                      .doc("x + 1, after a call of the test's.");

class SessionThreadsTest : public GraphTest {
 protected:
  ~SessionThreadsTest() override { inside_kernel = nullptr; }
  static Tensor calling() { return add_tensor(calling_op, {constant(1.f)}); }
  static std::string line(int number) { return "(called at session_threads_test.cc:" + std::to_string(number) + ")"; }
};

TEST_F(SessionThreadsTest, ACallWhileAnotherThreadsIsRunningIsAnErrorAndThatOneGoesOn) {
  KernelGate gate;
  inside_kernel = [&] { gate.wait_inside(); };
  const Variable w = var("w", Array(5.f));
  const Tensor y = calling(), z = w * 2.f;
  Session session(graph);
  session.initialize();
  const Callable call = session.make_callable({z});
  Array result;
  std::thread other([&] { result = session.run(y); });
  gate.wait_until_inside();
  const std::string facts = "] expected one thread at a time, got a call while another thread's is running ",
                    remedy = ". Give each thread a session, or take turns.";
  EXPECT_EQ(error_of([&] { session.run(z); }), "[Session::run" + facts + line(__LINE__) + remedy);
  EXPECT_EQ(error_of([&] { session.explain({z}); }), "[Session::explain" + facts + line(__LINE__) + remedy);
  EXPECT_EQ(error_of([&] { session.value(w); }), "[Session::value" + facts + line(__LINE__) + remedy);
  EXPECT_EQ(error_of([&] { session.set_value(w, 1.f); }), "[Session::set_value" + facts + line(__LINE__) + remedy);
  EXPECT_EQ(error_of([&] { call(); }).find("[callable" + facts), 0U);
  EXPECT_EQ(error_of([&] { call.make_results(); }).find("[callable" + facts), 0U);
  gate.open();
  other.join();
  EXPECT_EQ(result.item(), 2);
  EXPECT_EQ(session.run(z).item(), 10) << "taking turns is fine";
  EXPECT_EQ(call()[0].item(), 10);
}

TEST_F(SessionThreadsTest, ACallFromInsideARunOfTheSameSessionIsAnError) {
  const Tensor y = calling();
  Session session(graph);
  std::string text;
  inside_kernel = [&] { text = error_of([&] { session.run(y); }); };
  EXPECT_EQ(session.run(y).item(), 2);
  EXPECT_EQ(text, "[Session::run] expected no call from inside a run of the same session, got one " +
                      line(__LINE__ - 3) + ". Use another session in a kernel.");
}

TEST_F(SessionThreadsTest, ARunThatFailsLeavesTheSessionFree) {
  const Tensor y = calling();
  Session session(graph);
  const Callable call = session.make_callable({y});
  inside_kernel = [] { throw Error("expected luck, got none"); };
  EXPECT_THROW(session.run(y), Error);
  EXPECT_THROW(call(), Error);
  EXPECT_THROW(session.run("nobody"), Error);
  inside_kernel = nullptr;
  std::thread([&] { EXPECT_EQ(session.run(y).item(), 2); }).join();
  EXPECT_EQ(call()[0].item(), 2);
}

}  // namespace
}  // namespace belfry
