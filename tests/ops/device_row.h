// Rows for ops whose gradient nobody checks: integers, truth values, random numbers, queues, updates of variables. A
// row names an op and builds a small graph around it; it becomes a test of its own, which runs the graph twice on cpu:0
// and on test:0 (engine/testing), and compares what the runs gave, logged and left behind. The registry test fails an
// op that neither such a row nor a gradient_row() covers.
//
//   const bool rows = device_rows({{"ArgMax", [](RowGraph& g) { return argmax(g.floats({3, 4})); }}});
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "belfry/base/log.h"
#include "belfry/base/random.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/session/session.h"
#include "tests/ops/never_run.h"
#include "tests/support/rounding.h"

namespace belfry {

// What a row's runs give: one thing, or several in braces.
struct Fetches : std::vector<Fetch> {
  using vector::vector;
  Fetches(const Tensor& tensor) : vector{tensor} {}           // NOLINT(google-explicit-constructor)
  Fetches(const Operation& operation) : vector{operation} {}  // NOLINT(google-explicit-constructor)
};

// What a row builds its graph from.
class RowGraph {
 public:
  // Fed in every run: the engine cannot compute with it beforehand, as it does with constants.
  Tensor fed(const Array& value) {
    feeds_.emplace_back(placeholder(value.dtype(), value.shape()), value);
    return feeds_.back().first;
  }
  Tensor floats(const Shape& shape, double low = -2, double high = 2) { return fed(draw(f32, shape, low, high)); }
  // Whole numbers from 0 up, below `end`: few of them, so that some are equal.
  Tensor ints(const Shape& shape, int end) { return fed(draw(i64, shape, 0, end)); }
  Tensor bools(const Shape& shape) { return fed(draw(i64, shape, 0, 2).cast(boolean)); }

  Variable variable(const Array& value) {
    const Initializer start = [value](const Shape&, DType) { return constant(value); };
    return new_variable("v", {.shape = value.shape(), .dtype = value.dtype(), .initializer = start});
  }
  Variable weights(const Shape& shape, double low = -2, double high = 2) {
    return variable(draw(f32, shape, low, high));
  }

  // What both runs log together.
  void logs(std::vector<std::string> lines) { logs_ = std::move(lines); }
  // Before each run, and after both: the effects of ops that give nothing.
  void before(std::function<void(Session&)> action) { before_ = std::move(action); }
  void after(std::function<std::vector<Array>(Session&)> what) { after_ = std::move(what); }

 private:
  friend class DeviceRowTest;
  Array draw(DType dtype, const Shape& shape, double low, double high) {
    Array out(dtype, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, low + (high - low) * random_.uniform());
    return out;
  }

  RandomStream random_{5};
  Feeds feeds_;
  std::vector<std::string> logs_;
  std::function<void(Session&)> before_ = [](Session&) {};
  std::function<std::vector<Array>(Session&)> after_ = [](Session&) { return std::vector<Array>(); };
};

// Floats may differ by rounding, unless they are copies, or drawn: these are the same to the bit.
enum class Floats : std::uint8_t { rounded, same };

struct DeviceRow {
  std::string op;
  std::function<Fetches(RowGraph&)> make;
  Floats floats = Floats::rounded;
};

class DeviceRowTest : public testing::Test {
 public:
  explicit DeviceRowTest(DeviceRow row) : row_(std::move(row)) {}

  void TestBody() override {
    {
      const GraphScope scope(graph_);
      fetches_ = row_.make(in_);
    }
    EXPECT_TRUE(std::ranges::any_of(graph_.nodes(), [&](const auto& node) { return node->def->name == row_.op; }))
        << "the row claims to cover " << row_.op << ", which it never makes";
    const Outcome wanted = run_on("cpu"), got = run_on("test");
    EXPECT_EQ(wanted.lines, in_.logs_) << "on cpu:0";
    EXPECT_EQ(got.lines, in_.logs_) << "on test:0";
    ASSERT_EQ(got.arrays.size(), wanted.arrays.size());
    for (std::size_t i = 0; i < got.arrays.size(); ++i) compare(got.arrays[i], wanted.arrays[i], i);
    expect_that_it_ran(row_.op);
  }

 private:
  // What a session saw and left: what its runs gave, its variables afterwards, what the row asks for.
  struct Outcome {
    std::vector<Array> arrays{};
    std::vector<std::string> lines{};
  };

  Outcome run_on(const char* kind) {
    Outcome out;
    const LogRedirect redirect([&](LogLevel, std::string_view line) { out.lines.emplace_back(line); }, LogLevel::info);
    const auto note = [&](const std::vector<Array>& more) {
      out.arrays.insert(out.arrays.end(), more.begin(), more.end());
    };
    Session session(graph_, SessionConfig{.devices = {{.kind = kind}}});
    session.initialize();
    session.set_random_counter(1);  // initial values have drawn too
    const std::vector<Array> before = variables_of(session);
    for (int run = 0; run < 2; ++run) {
      in_.before_(session);
      note(session.run(fetches_, in_.feeds_));
    }
    const std::vector<Array> after = variables_of(session);
    if (!find_op(row_.op)->updates.empty()) {
      EXPECT_FALSE(std::ranges::equal(before, after, [](const Array& a, const Array& b) { return equal(a, b); }))
          << row_.op << " has updated nothing on " << kind;
    }
    note(after);
    note(in_.after_(session));
    return out;
  }

  std::vector<Array> variables_of(const Session& session) const {
    std::vector<Array> out;
    for (const Variable& v : graph_.variables()) out.push_back(session.value(v));
    return out;
  }

  void compare(const Array& got, const Array& wanted, std::size_t index) const {
    if (equal(got, wanted)) return;
    ASSERT_TRUE(row_.floats == Floats::rounded && is_float(got.dtype()) && got.dtype() == wanted.dtype() &&
                got.shape() == wanted.shape())
        << "array " << index << ": " << to_string(got) << " on test:0, " << to_string(wanted) << " on cpu:0";
    for (std::int64_t i = 0; i < got.elements(); ++i)
      ASSERT_NEAR(got.item(i), wanted.item(i), rounding_bound(kRoundings, std::max(1.0, std::abs(wanted.item(i)))))
          << "array " << index << ", element " << i;
  }

  static constexpr double kRoundings = 64;  // of both devices together: no row computes an element in more operations

  DeviceRow row_;
  Graph graph_;
  RowGraph in_;
  Fetches fetches_;
};

// The ops that some device_row of this test program covers.
inline std::set<std::string>& device_row_ops() {
  static std::set<std::string> ops;
  return ops;
}

inline bool device_rows(std::vector<DeviceRow> rows) {
  for (DeviceRow& row : rows) {
    device_row_ops().insert(row.op);
    testing::RegisterTest("DeviceRow", row.op.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [row]() -> DeviceRowTest* { return new DeviceRowTest(row); });
  }
  return true;
}

}  // namespace belfry
