// The handbook's code: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <thread>

#include "tests/support/files.h"

namespace bf = belfry;

TEST(Handbook, GraphAndSession) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 3}});
  const bf::Variable w = bf::get_variable("w", {.shape = {3, 2}, .initializer = bf::init::ones()});
  const bf::Tensor y = bf::matmul(x, w) * 2.f;

  bf::Session session(graph);
  session.initialize();
  const bf::Array out = session.run(y, {{x, bf::Array::of<float>({1, 3}, {1, 2, 3})}});  // f32 [1, 2] {12, 12}
  EXPECT_EQ(out.item(), 12);
}

TEST(Handbook, Queues) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  bf::Queue queue("input_queue", {{"image", bf::f32, {bf::kAny, 4}}, {"label", bf::i32, {bf::kAny}}}, {.capacity = 8});
  const bf::Tensors in = queue.dequeue();  // a run that needs these takes one point
  const bf::Tensor total = bf::reduce_sum(in[0]);

  bf::Session session(graph);
  std::thread producer([points = session.queue(queue)] {
    for (int i = 0; i < 3; ++i) points->put({{bf::Array::full(bf::f32, {2, 4}, i), bf::Array::zeros(bf::i32, {2})}});
    points->close();
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(session.run(total).item(), 8 * i);
  EXPECT_THROW(session.run(total), bf::EndOfData);
  producer.join();
}

TEST(Handbook, VariableRule) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable count = bf::get_variable("count", {.initializer = bf::init::zeros(), .trainable = false});
  const bf::Tensor next = count.assign_add(1.f), before = count * 10.f;
  bf::Tensor after;
  {
    const bf::ControlDependencies order({next});
    after = count * 10.f;  // sees the new value: the assignment comes before it on a control path
  }
  bf::Session session(graph);
  session.initialize();
  const auto values = session.run({next, before, after, count});  // 1, 0, 10 and 0: `count` as of the start of the run
  EXPECT_EQ(values[0].item(), 1);
  EXPECT_EQ(values[1].item(), 0);
  EXPECT_EQ(values[2].item(), 10);
  EXPECT_EQ(values[3].item(), 0);
}

TEST(Handbook, Gradients) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable w = bf::get_variable("w", {.initializer = bf::init::constant(3)});
  const bf::Tensor cost = w * w * w;
  const bf::Tensor first = bf::gradients(cost, {w})[0];
  const bf::Tensor second = bf::gradients(first, {w})[0];
  bf::Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(first).item(), 27);
  EXPECT_EQ(session.run(second).item(), 18);
}

TEST(Handbook, BranchesAndLoops) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {2}});
  const bf::Tensor y =
      bf::cond(bf::reduce_sum(x) > 0.f, [&] { return bf::Tensors{x * 2.f}; }, [&] { return bf::Tensors{-x}; })[0];
  const bf::Tensors end = bf::while_loop(
      {bf::constant(0), x}, [](const bf::Tensors& v) { return v[0] < 10; },
      [](const bf::Tensors& v) { return bf::Tensors{v[0] + 1, v[1] * 0.5f}; });
  bf::Session session(graph);
  EXPECT_EQ(session.run(y, {{x, bf::Array::of<float>({2}, {1, 2})}}).item(1), 4);
  EXPECT_EQ(session.run(y, {{x, bf::Array::of<float>({2}, {1, -2})}}).item(1), 2);
  EXPECT_EQ(session.run(end[1], {{x, bf::Array::of<float>({2}, {1024, 0})}}).item(0), 1);
}

TEST(Handbook, LoopsOverSequences) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder(bf::f32, {bf::kAny, bf::kAny}), start = bf::placeholder(bf::f32, {bf::kAny});
  const bf::ScanResult sums = bf::scan({start}, {x}, [](const bf::Tensors& state, const bf::Tensors& step) {
    const bf::Tensor sum = state[0] * 0.5f + step[0];
    return bf::ScanStep{.state = {sum}, .outputs = {sum}};
  });
  const bf::Tensor all = sums.outputs[0], last = sums.last[0];  // [time, batch], [batch]
  bf::Session session(graph);
  const bf::Feeds feeds{{x, bf::Array::full(bf::f32, {3, 1}, 1)}, {start, bf::Array::full(bf::f32, {1}, 0)}};
  EXPECT_EQ(session.run(all, feeds).item(1), 1.5);
  EXPECT_EQ(session.run(last, feeds).item(), 1.75);
}

namespace {
const bf::OpRegistration cube_op =
    bf::define_op("HandbookCube")
        .input("x")
        .output("y")
        .shape([](const bf::ShapeContext& c) { return c.input(0); })
        .gradient([](const bf::GradientContext& c) { return bf::Tensors{c.grad() * bf::square(c.input(0)) * 3.f}; })
        .kernel([](std::span<const bf::Array> in, std::span<bf::Array> out) {
          for (std::size_t i = 0; i < in[0].values<float>().size(); ++i) {
            const float x = in[0].values<float>()[i];
            out[0].values<float>()[i] = x * x * x;
          }
        })
        .doc("x^3");
}  // namespace

TEST(Handbook, UserOp) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable w = bf::get_variable("w", {.initializer = bf::init::constant(2)});
  const bf::Tensor y = bf::add_tensor(cube_op, {w}, {.name = "cubed"});
  bf::Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(y).item(), 8);
  EXPECT_EQ(session.run(bf::gradients(y, {w})[0]).item(), 12);
}

TEST(Handbook, LayersAndTowers) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor image = bf::placeholder({"image", bf::f32, {bf::kAny, 8, 8, 3}});
  const auto model = [](const bf::Tensor& x) {
    const auto conv = bf::conv2d({.filters = 16, .kernel = 3, .use_bias = false});
    return x | conv("conv0") | bf::batch_norm("bn0") | bf::relu | bf::global_avg_pool("pool") |
           bf::fully_connected("fc", {.units = 10});
  };
  bf::Operation train;
  {
    const bf::TrainTowerContext tower("");
    const bf::Tensor loss = bf::reduce_mean(bf::square(model(image)));
    const bf::Tensor cost = loss + bf::regularize_cost(".*/W", bf::l2(1e-4f));  // of the variables made so far
    train = bf::momentum({.learning_rate = 0.1f})->minimize(cost);              // moves batch norm's averages too
  }
  bf::Tensor logits;
  {
    const bf::PredictTowerContext tower("predict");
    logits = model(image);  // the same variables, batch norm with its moving averages
  }
  bf::Session session(graph, {.devices = {{1}}});
  session.initialize();
  const bf::Array batch = bf::Array::full(bf::f32, {4, 8, 8, 3}, 0.5);
  session.run(train, {{image, batch}});
  EXPECT_EQ(session.run(logits, {{image, batch}}).shape(), bf::Shape({4, 10}));
}

TEST(Handbook, Optimizers) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable w = bf::get_variable("fc/W", {.shape = {2}, .initializer = bf::init::ones()});
  const bf::Tensor cost = bf::reduce_sum(bf::square(w));
  const bf::Variable rate = bf::hyper_param("learning_rate", 1e-3f);
  const bf::Operation train = bf::adamw({.learning_rate = rate, .weight_decay = 0.05})->minimize(cost);
  const bf::Operation large_batch =
      bf::lamb({.learning_rate = rate, .exclude = "(.*/)?(b|gamma|beta)|words/W"})->minimize(cost);
  bf::Session session(graph);
  session.initialize();
  session.run(train);
  session.run(large_batch);
  EXPECT_LT(session.value(w).item(), 1);
}

TEST(Handbook, AroundAnOptimizer) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor image = bf::placeholder({"image", bf::f32, {bf::kAny, 3}});
  const auto model = [&](const bf::Tensor& x) {
    return x | bf::fully_connected("backbone/fc", {.units = 4}) | bf::fully_connected("fc", {.units = 1});
  };
  bf::Operation train;
  {
    const bf::TrainTowerContext tower("");
    auto optimizer = bf::apply_grad_processors(bf::adam({.learning_rate = 1e-2f}),
                                               {bf::check_gradient(), bf::global_norm_clip(5), bf::summary_gradient()});
    optimizer = bf::learning_rate_by_regex(std::move(optimizer), {{"backbone/.*", 0.1}});  // the rate, not the gradient
    optimizer = bf::ema_of_weights(std::move(optimizer), {.decay = 0.99});                 // "fc/W/EMA" follows "fc/W"
    optimizer = bf::accumulate_gradients(std::move(optimizer), 4);  // an update every fourth step
    train = optimizer->minimize(bf::reduce_mean(bf::square(model(image))));
  }
  bf::Tensor prediction;
  {
    const bf::PredictTowerContext tower("predict");
    const auto averages = bf::use_ema_of_weights();
    prediction = model(image);  // reads fc/W/EMA where the layer asks for fc/W
  }
  bf::Session session(graph, {.devices = {{1}}});
  session.initialize();
  const bf::Feeds feeds{{image, bf::Array::full(bf::f32, {2, 3}, 1)}};
  const double first = session.run(prediction, feeds).item();
  for (int i = 0; i < 3; ++i) session.run(train, feeds);
  EXPECT_EQ(session.run(prediction, feeds).item(), first);
  session.run(train, feeds);
  const double then = session.run(prediction, feeds).item();
  EXPECT_NE(then, first);
  bf::Saver(session, {.directory = directory}).save(4);

  bf::Graph plain;
  const bf::GraphScope other(plain);
  const bf::Tensor x = bf::placeholder({"image", bf::f32, {bf::kAny, 3}}), y = model(x);
  bf::Session inference(plain, {.devices = {{1}}});
  inference.initialize();
  bf::SaverRestore(directory, {.prefer = "EMA"}).init(inference);  // fc/W gets the value of fc/W/EMA
  bf::export_model(inference, directory + "/model.npz");
  EXPECT_EQ(inference.run(y, {{x, bf::Array::full(bf::f32, {2, 3}, 1)}}).item(), then);
}

TEST(Handbook, UpdatesInSomeRuns) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable w = bf::get_variable("w", {.initializer = bf::init::zeros()});
  const bf::Variable target = bf::get_variable("target", {.initializer = bf::init::zeros(), .trainable = false});
  const bf::Tensor step = w.assign_add(1.f);
  const bf::ControlDependencies after({step});
  bf::Tensor copied;
  {
    const bf::UpdateCondition every_third(bf::equal(bf::mod(step, 3.f), 0.f));
    copied = target.assign(w);
  }
  bf::Session session(graph, {.devices = {{1}}});
  session.initialize();
  for (int i = 1; i < 8; ++i) EXPECT_EQ(session.run(copied).item(), i / 3 * 3);
}

TEST(Handbook, FrozenAndRemapped) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 3}});
  bf::Tensor y;
  {
    const auto frozen = bf::freeze_variables();
    y = x | bf::fully_connected("backbone", {.units = 8});  // not trained, not regularised; saved and exported
  }
  {
    const auto rounded = bf::remap_variables([](const bf::Variable& v) -> bf::Tensor {
      if (!v.name().ends_with("/W")) return v;
      return v + bf::stop_gradient(bf::round(v * 16.f) / 16.f - v);  // rounded weights, gradients as if they were not
    });
    y = y | bf::fully_connected("head", {.units = 2});
  }
  const bf::Operation train = bf::sgd({.learning_rate = 0.1f})->minimize(bf::reduce_sum(y));
  EXPECT_EQ(graph.collections().variables(bf::collection::kTrainableVariables).size(), 2u);
  bf::Session session(graph, {.devices = {{1}}});
  session.initialize();
  const bf::Variable w = graph.get_variable_by_name("head/W");
  const bf::Array before = session.value(w);
  session.run(train, {{x, bf::Array::full(bf::f32, {2, 3}, 1)}});
  EXPECT_FALSE(bf::equal(session.value(w), before));
}

TEST(Handbook, TowersByHand) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const auto model = [](const bf::Tensor& x) {
    return x | bf::batch_norm("bn") | bf::fully_connected("fc", {.units = 2, .use_bias = false});
  };
  const auto optimizer = bf::sgd({.learning_rate = 0.5f});
  std::vector<bf::GradientsAndVariables> towers;
  std::vector<bf::Tensor> images;
  for (int i = 0; i < 2; ++i) {
    const std::string number = std::to_string(i);
    const bf::DeviceScope device("cpu:" + number);
    const bf::TrainTowerContext tower("tower" + number, {.index = i, .total = 2});  // the second finds the variables
    images.push_back(bf::placeholder({"image", bf::f32, {bf::kAny, 3}}));           // tower0/image, tower1/image
    const bf::Tensor cost = bf::reduce_mean(bf::square(model(images.back()) - 1.f));
    towers.push_back(optimizer->compute_gradients(cost));
  }
  bf::GradientsAndVariables mean = towers[0];
  for (std::size_t v = 0; v < mean.size(); ++v)
    mean[v].gradient = (towers[0][v].gradient + towers[1][v].gradient) * 0.5f;
  const bf::Operation train = optimizer->apply_gradients(mean);  // once, on cpu:0; tower 0 moves batch norm's averages
  bf::Session session(graph, {.devices = {{1}, {1}}});
  session.initialize();
  const bf::Variable average = graph.get_variable_by_name("bn/mean/EMA"), w = graph.get_variable_by_name("fc/W");
  const bf::Array before = session.value(w);
  session.run(train, {{images[0], bf::Array::of<float>({2, 3}, {1, 1, 1, 3, 5, 7})},
                      {images[1], bf::Array::of<float>({2, 3}, {9, -9, 4, 2, 0, 0})}});
  EXPECT_FALSE(bf::equal(session.value(w), before));
  const bf::Array moved = session.value(average);  // from 0 towards the means of tower 0's batch: 2, 3 and 4
  EXPECT_NEAR(moved.item(1) / moved.item(0), 3 / 2., 1e-5);
  EXPECT_NEAR(moved.item(2) / moved.item(0), 4 / 2., 1e-5);
}

TEST(Handbook, Recompute) {
  bf::Graph graph;
  const bf::GraphScope graph_scope(graph);
  const bf::TrainTowerContext tower("");
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 8, 16}});
  bf::Tensor y = x;
  for (int k = 0; k < 4; ++k)
    y = y | bf::recompute(bf::transformer_block("block" + std::to_string(k), {.heads = 2, .dropout = 0.1}));
  {
    const bf::RecomputeScope scope;  // the same for any piece of code
    y = bf::tanh(y | bf::dense("up", {.units = 64, .activation = bf::gelu}));
  }
  const bf::Operation train = bf::adam({.learning_rate = 1e-3f})->minimize(bf::reduce_mean(bf::square(y)));
  bf::Session session(graph, {.devices = {{1}}});
  session.initialize();
  const bf::Array batch = bf::Array::full(bf::f32, {4, 8, 16}, 0.5);
  session.run(train, {{x, batch}});
  EXPECT_NE(session.explain({train}, {{x, batch}}).find("instructions of 4 segments run again"), std::string::npos);
  EXPECT_GT(session.arena_bytes(), 0u);
}

TEST(Handbook, ChecksInFrontOfUpdates) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {}});
  const bf::Variable w = bf::get_variable("w", {.initializer = bf::init::ones()});
  const bf::Tensor cost = bf::square(w - x);
  bf::Operation train;
  {
    const bf::ControlDependencies first({bf::check_numerics(cost, "the cost")});
    train = bf::sgd({.learning_rate = 0.1f})->minimize(cost);  // a cost of NaN or infinity is an error and changes no w
  }
  bf::Session session(graph);
  session.initialize();
  EXPECT_THROW(session.run(train, {{x, bf::Array(INFINITY)}}), bf::NumericError);
  EXPECT_EQ(session.value(w).item(), 1);
  session.run(train, {{x, bf::Array(0.f)}});
  EXPECT_FLOAT_EQ(static_cast<float>(session.value(w).item()), 0.8f);
}

TEST(Handbook, SequencesAndEmbeddings) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::TrainTowerContext tower("");
  const bf::Tensor ids = bf::placeholder(bf::i32, {5, 4}), next = bf::placeholder(bf::i32, {20});
  const bf::Variable h = bf::new_variable("h", {.shape = {4, 64}, .initializer = bf::init::zeros()});
  const bf::Variable c = bf::new_variable("c", {.shape = {4, 64}, .initializer = bf::init::zeros()});
  const std::vector<bf::LstmState> before{{h, c}};  // variables: where the last step ended
  const bf::LstmLayerResult rnn =
      bf::lstm_with_state(ids | bf::embedding("words", {.rows = 1000, .width = 32}), "rnn", {.units = 64}, before);
  const bf::Tensor logits = bf::reshape(rnn.output, {bf::kAny, 64}) | bf::fully_connected("head", {.units = 1000});
  const bf::Tensor loss = bf::reduce_mean(bf::sparse_softmax_cross_entropy(logits, next));
  const auto optimizer = bf::sgd({.learning_rate = 1.f});
  bf::GradientsAndVariables gradients = optimizer->compute_gradients(loss);
  bf::Tensors values;
  for (const auto& g : gradients) values.push_back(g.gradient);
  const bf::ClippedTensors clipped = bf::clip_by_global_norm(values, 5.f);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i].gradient = clipped.tensors[i];
  const bf::Operation train =
      bf::group({optimizer->apply_gradients(gradients), h.assign(rnn.last[0].h), c.assign(rnn.last[0].c)});
  bf::Session session(graph, {.devices = {{1}}});
  session.initialize();
  const bf::Feeds feeds{{ids, bf::Array::full(bf::i32, {5, 4}, 7)}, {next, bf::Array::full(bf::i32, {20}, 8)}};
  const double first = session.run(loss, feeds).item();
  for (int step = 0; step < 3; ++step) session.run(train, feeds);
  EXPECT_LT(session.run(loss, feeds).item(), first);
  EXPECT_NE(session.value(h).item(), 0);
}

TEST(Handbook, RecurrentCells) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::TrainTowerContext tower("");
  const bf::Tensor x = bf::placeholder(bf::f32, {bf::kAny, bf::kAny, 8}),
                   lengths = bf::placeholder(bf::i32, {bf::kAny});
  const bf::RnnCell lstm = bf::cell::lstm("layer0", {.units = 64});
  const bf::RnnCell top = bf::cell::residual(bf::cell::dropout(bf::cell::gru("layer1", {.units = 64}), {.input = 0.3}));
  const bf::RnnCell net = bf::cell::stacked("rnn", {lstm, top});
  const bf::RnnResult r = bf::rnn(net, x, {.lengths = lengths});  // x [time, batch, features]
  const bf::Tensor output = r.output, h = r.last[0];              // [time, batch, 64], the first layer's h
  const bf::RnnCell leaky("leaky", {.state = {32}, .output = 32}, [](const bf::Tensor& x, const bf::Tensors& state) {
    const bf::Tensor now = bf::concat({x, state[0]}, 1) | bf::fully_connected("mix", {.units = 32});
    const bf::Tensor h = state[0] * 0.9f + bf::tanh(now) * 0.1f;
    return bf::RnnStep{.output = h, .state = {h}};
  });
  const bf::BidirectionalResult both =
      bf::bidirectional(leaky, bf::cell::plain("back", {.units = 32}), x, {.lengths = lengths});  // [time, batch, 64]
  bf::Session session(graph);
  session.initialize();
  const bf::Feeds feeds{{x, bf::Array::full(bf::f32, {5, 2, 8}, 1)}, {lengths, bf::Array::full(bf::i32, {2}, 3)}};
  EXPECT_EQ(session.run(output, feeds).shape(), bf::Shape({5, 2, 64}));
  EXPECT_EQ(session.run(h, feeds).shape(), bf::Shape({2, 64}));
  EXPECT_EQ(session.run(both.output, feeds).shape(), bf::Shape({5, 2, 64}));
}

TEST(Handbook, ShapesKnownOnlyInARun) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 20}});
  const bf::Tensor noise = bf::random_normal(bf::shape_of(x));                  // [?, 20]
  const bf::Tensor pairs = bf::reshape(x + noise, {bf::size_of(x, 0), 10, 2});  // [?, 10, 2]
  const bf::Tensor positive = bf::boolean_mask(pairs, bf::reduce_sum(pairs, {.axes = {1, 2}}) > 0.f);
  EXPECT_EQ(positive.shape(), bf::Shape({bf::kAny, 10, 2}));
  bf::Session session(graph);
  for (std::int64_t batch : {2, 1, 5}) {
    EXPECT_EQ(session.run(positive, {{x, bf::Array::full(bf::f32, {batch, 20}, 9)}}).shape(),
              bf::Shape({batch, 10, 2}));
    EXPECT_EQ(session.run(positive, {{x, bf::Array::full(bf::f32, {batch, 20}, -9)}}).elements(), 0);
  }
}

TEST(Handbook, Einsum) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder(bf::f32, {bf::kAny, bf::kAny, 8}), w = bf::placeholder(bf::f32, {8, 2, 4});
  const bf::Tensor heads = bf::einsum("btf,fhd->bthd", {x, w});             // [?, ?, 2, 4]
  const bf::Tensor scores = bf::einsum("bqhd,bkhd->bhqk", {heads, heads});  // [?, 2, ?, ?]
  const bf::Tensor norms = bf::einsum("...i,...i->...", {x, x});            // [?, ?]
  EXPECT_EQ(heads.shape(), bf::Shape({bf::kAny, bf::kAny, 2, 4}));
  const bf::Feeds feeds{{x, bf::Array::full(bf::f32, {3, 5, 8}, 1)}, {w, bf::Array::full(bf::f32, {8, 2, 4}, 0.5)}};
  const auto values = bf::Session(graph).run({scores, norms}, feeds);
  EXPECT_EQ(values[0].shape(), bf::Shape({3, 2, 5, 5}));
  EXPECT_EQ(values[0].item(), 64);
  EXPECT_EQ(values[1].item(), 8);
}

TEST(Handbook, Callable) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 2}});
  const bf::Tensor y = x * 2.f, sum = bf::reduce_sum(x);
  bf::Session session(graph);
  const std::vector<bf::Array> feeds{bf::Array::full(bf::f32, {3, 2}, 1)};
  const bf::Callable call = session.make_callable({y, sum}, {x});
  const double total = call(feeds)[1].item();  // the callable's own arrays: the next call overwrites them
  std::vector<bf::Array> results = call.make_results(feeds);  // or yours: f32 [3, 2] and f32 []
  call(feeds, results);
  EXPECT_EQ(total, 6);
  EXPECT_EQ(results[0].item(5), 2);
}

TEST(Handbook, SaveAndRestore) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable w = bf::get_variable("w", {.shape = {2}, .initializer = bf::init::ones()});
  bf::Session session(graph);
  session.initialize();
  {
    bf::Saver saver(session, {.directory = directory, .keep = 3});
    saver.save(1200);  // copies the values and returns; a thread writes them
    saver.wait();
  }
  session.set_value(w, bf::Array::zeros(bf::f32, {2}));
  bf::SaverRestore(directory).init(session);            // a checkpoint, or a directory: its latest one
  bf::export_model(session, directory + "/model.npz");  // the values that inference needs, by name
  EXPECT_EQ(session.value(w).item(), 1);
}

TEST(Handbook, Autotune) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 784}});
  const bf::Tensor y = bf::matmul(x, bf::get_variable("w", {.shape = {784, 512}}));
  const bf::Array batch = bf::Array::zeros(bf::f32, {64, 784});
  bf::Session session(graph, {.autotune = {.enabled = true, .file = directory + "/autotune.json"}});
  session.initialize();
  std::cout << session.explain({y}, {{x, batch}});  // ... [brg:avx512_core]  autotune: team (timed)  'MatMul'
  EXPECT_EQ(session.run(y, {{x, batch}}).shape(), bf::Shape({64, 512}));
}

TEST(Handbook, ProductsInBf16) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor x = bf::placeholder({"x", bf::f32, {bf::kAny, 784}});
  const bf::Tensor y = bf::matmul(x, bf::get_variable("w", {.shape = {784, 512}}));
  const bf::Array batch = bf::Array::zeros(bf::f32, {64, 784});
  bf::Session session(graph, {.precision = bf::Precision::bf16});
  session.initialize();
  std::cout << session.explain({y}, {{x, batch}});  // ... [own:amx_bf16]  'MatMul'  bf16
  EXPECT_EQ(session.run(y, {{x, batch}}).shape(), bf::Shape({64, 512}));
}
