// Computing single nodes on the host, from plain arrays: needed for constant folding and sizes while a run is planned,
// and usable by a backend without kernels. Supplied by the backend that has kernels for the host (engine/cpu).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/engine/data_queue.h"
#include "belfry/engine/flops.h"
#include "belfry/engine/ir.h"
#include "belfry/engine/step.h"

namespace belfry {

// A node that can be run again and again, on arrays of the shapes that it was made for.
class NodeProgram {
 public:
  virtual ~NodeProgram() = default;
  // `inputs` are the node's, in its order; variables that it updates are overwritten (see updated_inputs()). Returns
  // the outputs.
  virtual std::vector<Array> run(const Step& step, std::span<Array> inputs) = 0;
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Whether evaluate() can compute the node: no state, no effect, no ordering edges, no user's kernel.
  virtual bool can_evaluate(const IrNode& node) const = 0;
  virtual std::vector<Array> evaluate(const IrNode& node, const std::vector<Array>& inputs,
                                      const std::vector<TensorInfo>& outputs) const = 0;
  // Floating-point operations of an op of the graph.
  virtual double flops(OpKind op, const Work& work) const = 0;
  // Any node of the graph, with all its state and effects; `queues` are those of the session that runs it, and
  // `device` is the one that the node was meant for, for error texts.
  virtual std::unique_ptr<NodeProgram> program(const Ir& ir, const IrNode& node, const Device& device,
                                               QueueStore* queues) const = 0;
};

// The program's evaluator. A bug if there is none.
const Evaluator& evaluator();

// At namespace scope of a source file: const EvaluatorRegistration cpu = register_evaluator(...);
using EvaluatorRegistration = const Evaluator*;
EvaluatorRegistration register_evaluator(std::unique_ptr<const Evaluator> evaluator);

}  // namespace belfry
