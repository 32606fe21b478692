// After the first run of a plan a step allocates nothing outside oneDNN's own execute.
#include <execinfo.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/accumulate_gradients.h"
#include "belfry/nn/ema_of_weights.h"
#include "belfry/nn/gradient_processor.h"
#include "belfry/nn/learning_rate_by_regex.h"
#include "belfry/nn/lookahead.h"
#include "belfry/ops/activation.h"
#include "belfry/ops/adaptive_optimizers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/attention.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/check_numerics.h"
#include "belfry/ops/clip.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/ctc.h"
#include "belfry/ops/cumsum.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/gelu.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/group_norm.h"
#include "belfry/ops/gru.h"
#include "belfry/ops/heads.h"
#include "belfry/ops/layer_norm.h"
#include "belfry/ops/layerwise_optimizers.h"
#include "belfry/ops/lstm.h"
#include "belfry/ops/mask.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/print.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/resize.h"
#include "belfry/ops/sampling.h"
#include "belfry/ops/scatter_nd.h"
#include "belfry/ops/softmax.h"
#include "belfry/ops/sort.h"
#include "belfry/ops/sparse_optimizer.h"
#include "belfry/ops/strided_slice.h"
#include "belfry/ops/top_k.h"
#include "belfry/ops/unique.h"
#include "belfry/ops/update_slice.h"
#include "belfry/session/hooked_session.h"
#include "tests/engine/allocation_count.h"

namespace belfry {
namespace {

class AllocationTest : public testing::TestWithParam<int> {
 protected:
  AllocationTest() {
    setenv("OMP_WAIT_POLICY", "passive", 0);  // decided: nothing is adjusted while we count
    std::array<void*, 4> warm{};
    backtrace(warm.data(), 4);  // loads what it needs
  }
  SessionConfig config() const { return {.devices = {{GetParam()}}}; }
  Variable weight(const std::string& name, const Shape& shape) {
    return get_variable(
        name, {.shape = shape, .initializer = [](const Shape& s, DType) { return random_normal(s, {.stddev = 0.1}); }});
  }

  // The first calls may allocate: the plan, and what threads and oneDNN keep for themselves. As when data are read, no
  // step's feeds lie where those of the one before did.
  void expect_none(Session& session, const std::vector<Fetch>& fetches, const std::vector<Tensor>& feeds,
                   std::vector<Array> values, bool uses_dnnl) {
    session.initialize();
    const Callable call = session.make_callable(fetches, feeds);
    std::vector<Array> next;
    for (const Array& value : values) next.push_back(value.clone());
    for (int i = 0; i < 4; ++i) {
      call(values);
      std::swap(values, next);
    }
    const auto expect_none_in = [&](const char* what, auto&& step) {
      const Counted counted = allocations_of([&] {
        for (int i = 0; i < 5; ++i) step();
      });
      EXPECT_EQ(counted.ours, 0) << what << ", in five steps, from" << counted.where;
      EXPECT_EQ(counted.dnnls > 0, uses_dnnl) << "the counter in front of oneDNN";
    };
    expect_none_in("into the callable's own arrays", [&] {
      call(values);
      std::swap(values, next);
    });
    std::vector<Array> mine = call.make_results(values), others = call.make_results(values);
    expect_none_in("into the caller's arrays", [&] {
      call(values, mine);
      std::swap(mine, others);
      std::swap(values, next);
    });
  }

  Graph graph;
  GraphScope scope{graph};
};

TEST(Allocation, TheCounterCounts) {
  void* volatile kept = nullptr;  // else the compiler removes what is freed at once
  const Counted counted = allocations_of([&] {
    kept = std::malloc(10);
    std::free(kept);
    kept = new int(1);
    delete static_cast<int*>(kept);
    kept = std::aligned_alloc(64, 64);
    std::free(kept);
  });
  EXPECT_EQ(counted.ours, 3);
  EXPECT_EQ(counted.dnnls, 0);
}

TEST_P(AllocationTest, AStepOfAPerceptronMakesNone) {
  const Tensor x = placeholder({"x", f32, {kAny, 20}}), label = placeholder({"label", i32, {kAny}});
  Tensor y = relu(matmul(x, weight("w0", {20, 30})) + weight("b0", {30}));
  y = matmul(dropout(y, 0.5), weight("w1", {30, 10})) + weight("b1", {10});
  const Tensor loss = reduce_mean(sparse_softmax_cross_entropy(y, label)),
               wrong = reduce_mean(prediction_incorrect(y, label));
  const std::vector<Variable> variables = graph.variables();
  const Tensors g = gradients(loss, variables);
  const Variable step = new_variable("step", {.shape = {}});
  const Tensor count = step.assign_add(1.f);
  std::vector<Operation> updates;
  for (std::size_t i = 0; i < variables.size(); ++i)
    updates.emplace_back(apply_adam(
        variables[i],
        {new_variable("m", {.shape = variables[i].shape()}), new_variable("v", {.shape = variables[i].shape()})}, count,
        0.01f, g[i]));
  Session session(graph, config());
  expect_none(session, {group(updates), loss, wrong, "w0"}, {x, label},
              {Array::full(f32, {64, 20}, 0.5), Array::full(i32, {64}, 3)}, true);
}

TEST_P(AllocationTest, AStepOfAConvnetMakesNone) {
  const Tensor image = placeholder({"image", f32, {kAny, 16, 16, 3}}), label = placeholder({"label", i32, {kAny}});
  Tensor y = max_pool2d(relu(conv2d(image, weight("w0", {3, 3, 3, 20})) + weight("b0", {20})));
  const Tensor shortcut = y;
  const BatchNormResult norm =
      batch_norm(conv2d(y, weight("w1", {3, 3, 20, 20})), weight("gamma", {20}), weight("beta", {20}));
  y = relu(norm.y + shortcut);
  y = avg_pool2d(conv2d(y, weight("w2", {3, 3, 20, 40}), {.strides = 2}));
  y = matmul(batch_flatten(y), weight("w3", {160, 10}));
  Tensor loss = reduce_mean(sparse_softmax_cross_entropy(check_numerics(y, "logits"), label));
  const std::vector<Variable> variables = graph.variables();
  for (const Variable& v : variables) loss = loss + reduce_sum(square(v)) * 1e-4f;
  const Tensors g = gradients(loss, variables);
  const Variable mean = new_variable("mean", {.shape = {20}});
  std::vector<Operation> updates{mean.assign_sub((mean - norm.mean) * 0.1f)};
  for (std::size_t i = 0; i < variables.size(); ++i)
    updates.emplace_back(
        apply_momentum(variables[i], new_variable("slot", {.shape = variables[i].shape()}), 0.01f, g[i]));
  Session session(graph, config());
  expect_none(session, {group(updates), loss, softmax(y)}, {image, label},
              {Array::full(f32, {32, 16, 16, 3}, 0.5), Array::full(i32, {32}, 3)}, true);
}

// Products split by hand, and filters reordered in every run, directly after the feeds.
TEST_P(AllocationTest, KernelsOfSeveralPartsThatReadFeedsMakeNone) {
  const Tensor x = placeholder({"x", f32, {32, 600}}), image = placeholder({"image", f32, {4, 10, 10, 40}});
  const Variable w = weight("w", {600, 64});
  const Tensor loss = reduce_sum(square(relu(matmul(x, w) + weight("b", {64})))) +
                      reduce_sum(square(conv2d(image, weight("f", {3, 3, 20, 40}), {.groups = 2})));
  std::vector<Fetch> fetches{loss};
  for (const Tensor& g : gradients(loss, graph.variables())) fetches.emplace_back(g);
  Session session(graph, config());
  expect_none(session, fetches, {x, image}, {Array::full(f32, {32, 600}, 0.1), Array::full(f32, {4, 10, 10, 40}, 0.1)},
              true);
}

TEST_P(AllocationTest, AStepOfARecurrentModelMakesNone) {
  const Tensor ids = placeholder({"ids", i32, {kAny, 12}}), label = placeholder({"label", i64, {12}}),
               lengths = placeholder({"lengths", i32, {12}});
  const Variable table = weight("table", {30, 10}), h = weight("h", {12, 16}), c = weight("c", {12, 16});
  const std::vector<Variable> trained{table,
                                      weight("w_x", {10, 64}),
                                      weight("w_h", {16, 64}),
                                      weight("b", {64}),
                                      weight("g_x", {16, 36}),
                                      weight("g_h", {12, 36})};
  const LstmResult lower = lstm(gather(table, ids), {trained[1], trained[2], trained[3]}, {h, c}, {.lengths = lengths});
  const GruResult upper = gru(lower.h, {trained[4], trained[5]}, {}, {.lengths = lengths});
  const Tensor loss = reduce_mean(sparse_softmax_cross_entropy(upper.last, label));
  const ClippedTensors clipped = clip_by_global_norm(gradients(loss, trained), 0.1f);
  std::vector<Operation> updates{h.assign(lower.last.h), c.assign(lower.last.c),
                                 apply_sgd_rows(table, 0.1f, *as_sparse_rows(clipped.tensors[0]))};
  for (std::size_t i = 1; i < trained.size(); ++i)
    updates.emplace_back(apply_sgd(trained[i], 0.1f, clipped.tensors[i]));
  Session session(graph, config());
  expect_none(session, {group(updates), loss, clipped.norm, gather(table, label, {.axis = 1}), clipped.tensors[0]},
              {ids, label, lengths},
              {Array::full(i32, {7, 12}, 3), Array::full(i64, {12}, 3), Array::full(i32, {12}, 5)}, true);
}

TEST_P(AllocationTest, AStepOfATransformerMakesNone) {
  const Tensor x = placeholder({"x", f32, {kAny, 40, 16}}), mask = placeholder({"mask", boolean, {kAny, 1, 1, 40}});
  const Tensor normed = layer_norm(x * weight("scale", {16}), weight("gamma0", {16}), weight("beta0", {16}));
  const Tensors parts = split(matmul(normed, weight("qkv", {16, 48})), 3, 2);
  const Tensor middle =
      x + attention(parts[0], parts[1], parts[2], {.causal = true, .mask = mask, .scale = 1, .heads = 2});
  Tensor y = layer_norm(middle, weight("gamma1", {16}), weight("beta1", {16}));
  y = matmul(gelu(matmul(y, weight("w0", {16, 64})) + weight("b0", {64})), weight("w1", {64, 16})) + middle;
  const Tensor scores = matmul(y, y, {.transpose_b = true});
  const Tensor loss = reduce_mean(square(scores)) + reduce_mean(erf(band_part(scores, -1, 0)));
  const std::vector<Variable> variables = graph.variables();
  const Tensors g = gradients(loss, variables);
  std::vector<Operation> updates;
  for (std::size_t i = 0; i < variables.size(); ++i) updates.emplace_back(apply_sgd(variables[i], 0.01f, g[i]));
  Session session(graph, config());
  expect_none(session, {group(updates), loss}, {x, mask},
              {Array::full(f32, {4, 40, 16}, 0.5), Array::full(boolean, {4, 1, 1, 40}, 1)}, true);
}

// Caches in variables, and the same in a loop inside of one run.
TEST_P(AllocationTest, SamplingWithACacheMakesNone) {
  const Tensor x = placeholder({"x", f32, {2, 1, 16}}), at = placeholder({"at", i64, {}});
  const Variable keys = new_variable("keys", {.shape = {2, 40, 16}});
  const auto step = [&](const Tensor& t, const Tensor& cache, const Tensor& position) {
    const Tensor y =
        matmul(cached_attention(t, cache, cache, position, {.scale = 1, .heads = 2}), weight("w", {16, 16}));
    return y + cast(reshape(sample_class(y, {.temperature = 0.5f, .top_k = 3, .top_p = 0.9f}), {2, 1, 1}), f32);
  };
  const Tensor one = step(x, assign_slice(keys, x, {0, at, 0}), at);
  const auto again = VariableScope::reopen({.reuse = Reuse::yes});
  const Tensors many = while_loop(
      {at, x, zeros({2, 40, 16})}, [](const Tensors& v) { return v[0] < 20; },
      [&](const Tensors& v) {
        const Tensor cache = update_slice(v[2], v[1], {0, v[0], 0});
        return Tensors{v[0] + 1, step(v[1], cache, v[0]), cache};
      });
  Session session(graph, config());
  expect_none(session, {one, many[1]}, {x, at}, {Array::full(f32, {2, 1, 16}, 0.5), Array(std::int64_t{3})}, true);
}

TEST_P(AllocationTest, AStepOfOptimizersAroundOthersMakesNone) {
  const Tensor x = placeholder({"x", f32, {kAny, 20}}), ids = placeholder({"ids", i32, {kAny}});
  const Tensor y = matmul(tanh(matmul(x, weight("w0", {20, 30}))), weight("w1", {30, 10}));
  const Tensor loss = reduce_mean(square(y)) + reduce_sum(square(gather(weight("table", {50, 4}), ids)));
  auto optimizer =
      apply_grad_processors(momentum({.learning_rate = 0.1f}),
                            {check_gradient(), scale_gradient({{"w0", 0.5}}), clip_gradient_by_value(1),
                             global_norm_clip(1), summary_gradient(), gradient_noise({.stddev = 0.01, .decay = 0.55})});
  optimizer = lookahead(learning_rate_by_regex(std::move(optimizer), {{"w1", 2}}), {.period = 2});
  const Operation train =
      accumulate_gradients(ema_of_weights(std::move(optimizer), {.warm_up = true}), 3)->minimize(loss);
  std::vector<Fetch> fetches{train, loss};
  for (const Tensor& t : graph.collections().tensors(collection::kMovingSummaries)) fetches.emplace_back(t);
  Session session(graph, config());
  expect_none(session, fetches, {x, ids}, {Array::full(f32, {64, 20}, 0.5), Array::full(i32, {7}, 3)}, true);
}

TEST_P(AllocationTest, AStepInBf16MakesNone) {
  const Tensor x = placeholder({"x", f32, {kAny, 12, 12, 32}});
  Tensor y = relu(conv2d(x, weight("w0", {3, 3, 32, 32})) + weight("b0", {32}));
  y = reshape(conv2d(y, weight("w1", {3, 3, 16, 16}), {.strides = 2, .groups = 2}), {kAny, 36, 16});
  y = matmul(gelu(matmul(y, weight("w2", {16, 64})) + weight("b2", {64})), weight("w3", {64, 16}));
  const Tensor loss = reduce_mean(square(matmul(y, y, {.transpose_b = true})));
  const std::vector<Variable> variables = graph.variables();
  const Tensors g = gradients(loss, variables);
  std::vector<Operation> updates;
  for (std::size_t i = 0; i < variables.size(); ++i) updates.emplace_back(apply_sgd(variables[i], 0.01f, g[i]));
  for (const Precision precision : {Precision::bf16, Precision::bf16_emulated}) {
    SessionConfig low = config();
    low.precision = precision;
    Session session(graph, low);
    expect_none(session, {group(updates), loss}, {x}, {Array::full(f32, {4, 12, 12, 32}, 0.5)}, true);
  }
}

TEST_P(AllocationTest, OtherOpsMakeNone) {
  const Tensor x = placeholder({"x", f32, {kAny, 6, 4}});
  const Tensors parts = split(transpose(x, {0, 2, 1}), 2, 1);
  const Variable snapshot = weight("v", {6});
  const Tensor next = snapshot.assign(snapshot * 0.5f);
  const std::vector<Fetch> fetches{concat({parts[1], parts[0]}, 2),
                                   pad(x, {{1, 1}, {0, 0}, {2, 0}}),
                                   slice(x, {0, 1, 1}, {kAny, 2, 2}),
                                   reduce_max(x, {.axes = {1}}),
                                   argmax(x),
                                   cast(x, i64),
                                   select(greater(x, 0.5f), x, 0.f),
                                   random_uniform({100}),
                                   random_normal({100}),
                                   truncated_normal({100}),
                                   log_softmax(x),
                                   next - snapshot,
                                   squared_difference(x, 0.5f),
                                   reduce_prod(x),
                                   matmul(cast(reshape(x, {kAny, 4}), f64), constant(Array::full(f64, {4, 4}, 1)))};
  Session session(graph, config());
  expect_none(session, fetches, {x}, {Array::full(f32, {50, 6, 4}, 0.25)}, false);
}

TEST_P(AllocationTest, OpsThatSortSampleAndScatterMakeNone) {
  const Tensor x = placeholder({"x", f32, {kAny, 6, 4}}), rows = reshape(x, {kAny, 4});
  const TopK best = top_k(x, 2);
  const Tensor places = argsort(x, 1), cuts = strided_slice(x, {{.step = -2}});
  const Tensor gamma = constant(Array::full(f32, {4}, 1)),
               loss = reduce_sum(square(group_norm(x, gamma, gamma, {.groups = 2})));
  const Tensor lengths = constant(Array::full(i32, {6}, 3));
  const Tensor ctc = ctc_loss({x, constant(Array::full(i32, {6, 2}, 1)), lengths, constant(Array::full(i32, {6}, 1))});
  const std::vector<Fetch> fetches{best.values,
                                   gradients({best.values}, {x})[0],
                                   places,
                                   cuts,
                                   reverse(x, {1}),
                                   tile(x, {1, 2, 1}),
                                   gradients({tile(x, {1, 2, 1})}, {x})[0],
                                   unique_with_counts(reshape(x, {kAny})).counts,
                                   gather_nd(x, constant(Array::full(i64, {3, 1}, 7))),
                                   scatter_nd(constant(Array::full(i64, {3, 1}, 7)), fill({3, 4}, 1), {9, 4}),
                                   one_hot(cast(x, i32), 3),
                                   range({.limit = 9}),
                                   cumsum(x, 1),
                                   bernoulli(x),
                                   categorical(x, 3),
                                   random_shuffle(x),
                                   reduce_logsumexp(x, {.axes = {1}}),
                                   reduce_any(greater(x, 0.f)),
                                   softmax_cross_entropy(rows, rows),
                                   resize_bilinear(reshape(x, {kAny, 2, 3, 4}), {.scale = 2}),
                                   gradients({loss}, {x})[0],
                                   ctc,
                                   gradients({ctc}, {x})[0],
                                   print(x, "never", {.first_n = 0}),
                                   swish(prelu(clip_by_value(x, 0.1f, 0.5f), gamma))};
  Session session(graph, config());
  expect_none(session, fetches, {x}, {Array::full(f32, {50, 6, 4}, 0.25)}, false);
}

TEST_P(AllocationTest, AStepOfEveryUpdateMakesNone) {
  const Tensor x = placeholder({"x", f32, {150, 200}});
  const Variable step = new_variable("step", {.shape = {}});
  const SparseRows rows{constant(Array::of<std::int32_t>({2}, {7, 90})), slice(x, {0, 0}, {2, 200}), x};
  const Tensor count = step.assign_add(1.f);
  const auto slot = [] { return new_variable("slot", {.shape = {150, 200}}); };
  std::vector<Operation> updates;
  int number = 0;
  const auto add = [&](const auto& update) {  // by x, and by rows
    updates.emplace_back(update(weight("w" + std::to_string(number++), {150, 200}), false));
    updates.emplace_back(update(weight("w" + std::to_string(number++), {150, 200}), true));
  };
  for (const bool centered : {false, true})
    for (const bool momentum : {false, true})
      add([&](const Variable& w, bool sparse) {
        RmsPropSlots slots{.mean_square = slot()};
        if (centered) slots.mean_gradient = slot();
        if (momentum) slots.accumulator = slot();
        return sparse ? apply_rmsprop_rows(w, slots, 0.1f, rows) : apply_rmsprop(w, slots, 0.1f, x);
      });
  add([&](const Variable& w, bool sparse) {
    return sparse ? apply_adagrad_rows(w, slot(), 0.1f, rows) : apply_adagrad(w, slot(), 0.1f, x);
  });
  add([&](const Variable& w, bool sparse) {
    const AdadeltaSlots slots{slot(), slot()};
    return sparse ? apply_adadelta_rows(w, slots, 0.1f, rows) : apply_adadelta(w, slots, 0.1f, x);
  });
  add([&](const Variable& w, bool sparse) {
    return sparse ? apply_lars_rows(w, slot(), 0.1f, rows) : apply_lars(w, slot(), 0.1f, x);
  });
  add([&](const Variable& w, bool sparse) {
    const AdamSlots slots{slot(), slot()};
    return sparse ? apply_lamb_rows(w, slots, count, 0.1f, rows) : apply_lamb(w, slots, count, 0.1f, x);
  });
  add([&](const Variable& w, bool sparse) {
    const AdamSlots slots{slot(), slot()};
    const AdamUpdate rule{.decoupled_decay = 0.01};
    return sparse ? apply_adam_rows(w, slots, count, 0.1f, rows, rule) : apply_adam(w, slots, count, 0.1f, x, rule);
  });
  Session session(graph, config());
  expect_none(session, {group(updates), "w0"}, {x}, {Array::full(f32, {150, 200}, 0.5)}, false);
}

TEST_P(AllocationTest, StagesForShapesFromDataMakeNone) {
  const Tensor x = placeholder({"x", f32, {kAny}});
  const Tensor kept = boolean_mask(x, x > 0.f);
  Session session(graph, config());
  const Callable call = session.make_callable({kept * 2.f, reduce_sum(kept)}, {x});
  const std::vector<Array> fed{Array::of<float>({5}, {1, -1, 2, -2, 3})};
  for (int i = 0; i < 4; ++i) call(fed);
  const Counted counted = allocations_of([&] {
    for (int i = 0; i < 5; ++i) call(fed);
  });
  EXPECT_EQ(counted.ours, 0) << "in five steps, from" << counted.where;
}

// What is asked for and given is new in each run; what is between the two is not.
TEST_P(AllocationTest, AHookedStepAllocatesOnlyWhatIsAskedAndGiven) {
  struct Hook final : SessionHook {
    explicit Hook(Fetch f) : fetch(std::move(f)) {}
    HookRequest before_run(const RunContext&) override { return {.fetches = {fetch}}; }
    Fetch fetch;
  };
  const Tensor x = placeholder({"x", f32, {kAny}}), y = exp(x), sum = reduce_sum(y, "sum");
  Session session(graph, config());
  HookedSession hooked(session, {std::make_shared<Hook>(sum), std::make_shared<Hook>("sum")});
  const std::vector<Fetch> fetches{Operation(y)};
  const Feeds feeds{{x, Array::full(f32, {8}, 1)}};
  for (int i = 0; i < 4; ++i) hooked.run(fetches, feeds);
  const Counted counted = allocations_of([&] {
    for (int i = 0; i < 5; ++i) hooked.run(fetches, feeds);
  });
  // The requests and each one's fetches, twice, since a list in braces is copied; the feeds, the results and the array
  // among them; what each of the three parties gets.
  EXPECT_LE(counted.ours, 5 * 13) << "in five steps, from" << counted.where;
}

TEST_P(AllocationTest, AUsersOpMakesNoneOfItsOwn) {
  static const OpRegistration twice = define_op("TestTwice")
                                          .input("x")
                                          .output("y")
                                          .shape([](const ShapeContext& c) { return c.input(0); })
                                          .kernel([](std::span<const Array> in, std::span<Array> out) {
                                            for (std::size_t i = 0; i < out[0].values<float>().size(); ++i)
                                              out[0].values<float>()[i] = 2 * in[0].values<float>()[i];
                                          })
                                          .not_differentiable()
                                          .doc("2 x");
  const Tensor x = placeholder({"x", f32, {kAny}});
  Session session(graph, config());
  expect_none(session, {add_tensor(twice, {x})}, {x}, {Array::full(f32, {100}, 1)}, false);
}

INSTANTIATE_TEST_SUITE_P(Threads, AllocationTest, testing::Values(1, 2),
                         [](const auto& p) { return std::to_string(p.param) + (p.param == 1 ? "Thread" : "Threads"); });

}  // namespace
}  // namespace belfry
