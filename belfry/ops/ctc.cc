#include "belfry/ops/ctc.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/softmax.h"

namespace belfry {
namespace {

// The gradient comes out of the same pass over the paths, so it is an output of the op.
const OpRegistration ctc_def =
    define_op("CtcLoss")
        .input("log_probabilities")
        .input("labels")
        .input("logit_lengths")
        .input("label_lengths")
        .output("loss")
        .output("slope")
        .shape([](const ShapeContext& c) {
          const Shape& x = c.input(0);
          check_float(c, 0, "logits");
          for (const auto& [input, what] : {std::pair{1, "labels"}, {2, "logit_lengths"}, {3, "label_lengths"}})
            check_label_type(c, input, what);
          BELFRY_CHECK(c.dtype(2) == c.dtype(1) && c.dtype(3) == c.dtype(1),
                       "expected labels and lengths of one type, got {}, {} and {}. Use cast()", name_of(c.dtype(1)),
                       name_of(c.dtype(2)), name_of(c.dtype(3)));
          BELFRY_CHECK(x.rank() == 3, "expected logits of shape [time, batch, classes], got {}", to_string(x));
          BELFRY_CHECK(x[2] != 0, "expected logits of at least one class, got {}", to_string(x));
          const std::int64_t blank = c.attributes().integer("blank");
          BELFRY_CHECK(x[2] == kAny || (blank >= -x[2] && blank < x[2]), "expected a blank among {} classes, got {}",
                       x[2], blank);
          check_shape(c, 1, "labels", {x[1], kAny});
          check_shape(c, 2, "logit_lengths", {x[1]});
          check_shape(c, 3, "label_lengths", {x[1]});
          const Shape batch = merge(merge(Shape{x[1]}, c.input(2)), merge(c.input(3), {c.input(1)[0]}));
          return Shapes{batch, x};
        })
        .dtype([](const ShapeContext& c) { return std::vector{c.dtype(0), c.dtype(0)}; })
        .gradient([](const GradientContext& c) {
          BELFRY_CHECK(!c.has_grad(1), "expected first derivatives only, got a derivative of CtcLoss's gradient");
          return Tensors{c.output(1) * expand_dims(c.grad(0), -1), Tensor(), Tensor(), Tensor()};
        })
        .doc("-log of the probability of sequences of labels, and its gradient.");

}  // namespace

Tensor ctc_loss(const CtcInputs& inputs, const CtcOptions& options, std::string_view name, const Location& where) {
  const LocationScope location(where);
  const bool sequences = inputs.logits.rank() == 3;  // the shape rule rejects others
  const Tensor logits = options.time_major || !sequences ? inputs.logits : transpose(inputs.logits, {1, 0, 2});
  return add_tensor(ctc_def, {log_softmax(logits), inputs.labels, inputs.logit_lengths, inputs.label_lengths},
                    {.name = name, .attributes = {{"blank", static_cast<std::int64_t>(options.blank)}}});
}

}  // namespace belfry
