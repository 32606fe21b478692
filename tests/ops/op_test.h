// A graph to build ops in and a session to look at their values.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "belfry/base/error.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/session/session.h"
#include "tests/support/errors.h"

namespace belfry {

class OpTest : public testing::Test {
 protected:
  // A tensor that every run below is fed: the engine cannot fold it away as it does constants.
  Tensor input(const Array& value) {
    feeds_.emplace_back(placeholder(value.dtype(), value.shape()), value);
    return feeds_.back().first;
  }

  Array run(const Tensor& t, const Feeds& feeds = {}) {
    Feeds all = feeds_;
    all.insert(all.end(), feeds.begin(), feeds.end());
    return Session(graph).run(t, all);
  }

  template <class T>
  std::vector<T> values(const Tensor& t, const Feeds& feeds = {}) {
    const Array out = run(t, feeds);
    const auto span = out.values<T>();
    return {span.begin(), span.end()};
  }
  std::vector<float> floats(const Tensor& t, const Feeds& feeds = {}) { return values<float>(t, feeds); }
  std::vector<std::int32_t> ints(const Tensor& t, const Feeds& feeds = {}) { return values<std::int32_t>(t, feeds); }
  std::vector<bool> bools(const Tensor& t, const Feeds& feeds = {}) { return values<bool>(t, feeds); }

  // An error of the action has this text somewhere.
  template <class Action>
  static void says(const Action& action, const std::string& text) {
    const std::string error = error_of(action);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  }

  Graph graph;
  GraphScope scope{graph};

 private:
  Feeds feeds_;
};

// 0, 1, 2, ... in the given shape.
inline Array counting(const Shape& shape, DType dtype = f32) {
  Array out(dtype, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i));
  return out;
}

}  // namespace belfry
