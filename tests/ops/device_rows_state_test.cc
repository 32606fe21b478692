// Ops that take, keep and leave values, and those that hold functions: see device_row.h.
#include "belfry/graph/gradients.h"
#include "belfry/graph/op_def.h"
#include "belfry/graph/update_condition.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/print.h"
#include "belfry/ops/queue.h"
#include "belfry/ops/random.h"
#include "belfry/ops/scan.h"
#include "belfry/ops/update_slice.h"
#include "tests/ops/device_row.h"

namespace belfry {
namespace {

using G = RowGraph&;
using X = const Tensors&;

Array counting(DType dtype, std::int64_t count) {
  Array out(dtype, {count});
  for (std::int64_t i = 0; i < count; ++i) out.set_item(i, static_cast<double>(i));
  return out;
}

// A user's own op, with a kernel for the host.
const OpRegistration every_other = define_op("TestEveryOther")
                                       .input("x")
                                       .output("y")
                                       .shape([](const ShapeContext& c) { return Shape{(c.input(0)[0] + 1) / 2}; })
                                       .not_differentiable()
                                       .kernel([](const HostKernelContext& c) {
                                         for (std::int64_t i = 0; i < c.output().elements(); ++i)
                                           c.output().set_item(i, c.input().item(2 * i));
                                       })
                                       .doc("Every other element of a vector.");

const bool sources = device_rows({
    {"Constant", [](G) { return Fetches{constant(counting(i32, 5)), constant(true), constant(0.1)}; }, Floats::same},
    {"Placeholder", [](G g) { return Fetches{g.floats({2, 3}), g.ints({4}, 9), g.bools({3}), g.floats({0, 2})}; },
     Floats::same},
    {"StopGradient", [](G g) { return stop_gradient(g.floats({4})); }, Floats::same},
    {"CustomGradient",
     [](G g) {
       const Tensor x = g.floats({4});
       const Tensor y = custom_gradient(
           {x}, [](X in) { return Tensors{floor(in[0])}; }, [](X, X, X dy) { return Tensors{dy[0] * 3.f}; })[0];
       return Fetches{y, gradients(y, {x})[0]};
     },
     Floats::same},
    {"TestEveryOther", [](G g) { return add_tensor(every_other, {g.ints({7}, 99)}); }},
});

const bool variables = device_rows({
    {"Variable", [](G g) { return Fetches{g.weights({2, 3}), g.variable(counting(i64, 3)), g.variable(Array(true))}; },
     Floats::same},
    // The old value, the new one, and a read behind the assignment.
    {"ReadVariable",
     [](G g) {
       const Variable v = g.weights({3});
       const Tensor next = v.assign(g.floats({3}) + v.value());
       const ControlDependencies behind({next});
       return Fetches{v.value(), next, v.read() * 2.f};
     }},
    {"Assign",
     [](G g) {
       const Variable v = g.variable(counting(i32, 4)), b = g.variable(Array(false));
       return Fetches{v.assign(v.value() * 2), b.assign(logical_not(b.value())), v.value()};
     }},
    {"AssignAdd",
     [](G g) {
       const Variable v = g.variable(counting(i64, 4)), w = g.weights({2, 2});
       return Fetches{v.assign_add(g.ints({4}, 9)), Operation(w.assign_add(g.floats({2, 2})))};
     }},
    // Only in every other run.
    {"AssignSub",
     [](G g) {
       const Tensor count = g.variable(Array(std::int64_t{0})).assign_add(1);
       const UpdateCondition now(equal(count, 2));
       return g.weights({3}).assign_sub(g.floats({3}));
     }},
    {"AssignSlice",
     [](G g) {
       const Variable v = g.weights({3, 4});
       return assign_slice(v, g.floats({1, 2}), {g.fed(Array(std::int64_t{2})), 1});
     }},
    {"NoOp",
     [](G g) {
       return group({Operation(g.variable(Array(0.5f)).assign_add(1.f)), Operation(g.variable(Array(0)).assign(7))},
                    "both");
     }},
});

const std::vector<TensorSpec> kPoint{{"x", f32, {3}}, {"n", i32, {kAny}}};

const bool effects = device_rows({
    {"QueueTake",
     [](G g) {
       const Queue queue("queue", kPoint);
       g.before([queue](Session& s) {  // points of different lengths
         s.queue(queue)->put({{counting(f32, 3), counting(i32, static_cast<std::int64_t>(s.random_counter()))}});
       });
       const Tensors in = queue.dequeue();
       return Fetches{in[0], in[1] + 1};
     }},
    {"Queue",
     [](G g) {
       const Queue queue("queue", kPoint);
       g.before([queue](Session& s) { s.queue(queue)->put({{counting(f32, 3), counting(i32, 2)}}); });
       return queue.size();
     }},
    {"QueuePut",
     [](G g) {
       const Queue queue("queue", kPoint);
       const Tensor count = g.variable(Array(1)).assign_add(1);
       g.after([queue](Session& s) {
         const auto points = s.queue(queue);
         EXPECT_EQ(points->size(), 2);
         const QueuedPoint first = points->take(), second = points->take();
         EXPECT_EQ(second.values[1].item(0), 3);
         return std::vector<Array>{first.values[0], first.values[1], second.values[0], second.values[1]};
       });
       return queue.enqueue({g.floats({3}), count + g.fed(Array(0)) * g.fed(counting(i32, 2))});
     },
     Floats::same},
    {"Print",
     [](G g) {
       g.logs({"numbers: [0, 1, 2] i32 [3]", "numbers: [0, 1, 2] i32 [3]"});
       return print(g.fed(counting(i32, 3)), "numbers");
     }},
});

// Functions inside of ops: the branch or body runs where the op does, and draws what it would draw elsewhere.
const bool functions = device_rows({
    {"Cond",
     [](G g) {
       const auto choose = [&](bool which) {
         const Tensor x = g.ints({4}, 9);
         return cond(g.fed(Array(which)), [&] { return Tensors{x * 2}; }, [&] { return Tensors{x - 5}; })[0];
       };
       return Fetches{choose(true), choose(false)};
     }},
    {"While",
     [](G g) {
       const Tensors end = while_loop(
           {g.ints({}, 3), g.floats({3})}, [](X v) { return v[0] < 5; },
           [](X v) { return Tensors{v[0] + 1, v[1] + random_uniform({3})}; });
       return Fetches{end[0], end[1]};
     }},
    {"WhileGrad",
     [](G g) {
       const Tensor x = g.floats({3}), w = g.floats({3});
       const Tensor y = while_loop(
           {constant(0), x}, [](X v) { return v[0] < 3; }, [&](X v) { return Tensors{v[0] + 1, tanh(v[1] * w)}; })[1];
       const Tensors dx = gradients(y, {x, w});
       return Fetches{dx[0], dx[1]};
     }},
    {"Scan",
     [](G g) {
       const ScanResult r = scan({g.ints({2}, 9)}, {g.ints({4, 2}, 9)}, [](X state, X step) {
         const Tensor sum = state[0] + step[0];
         return ScanStep{.state = {sum}, .outputs = {sum, random_normal({2})}};
       });
       return Fetches{r.last[0], r.outputs[0], r.outputs[1]};
     }},
});

}  // namespace
}  // namespace belfry
