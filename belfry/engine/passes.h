// The passes that are the same for every device, in the order they run. Each is one file with one function, tested
// separately. After them come the backends' passes (engine/cpu/compile/passes.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "belfry/engine/ir.h"
#include "belfry/graph/device.h"

namespace belfry {

// What a run asks for and is given.
struct Signature {
  std::vector<Tensor> fetches;     // tensors whose values are wanted
  std::vector<Operation> targets;  // operations run for their effect
  std::vector<Tensor> feeds;       // tensors that are given
  std::vector<TensorSpec> fed;     // the dtype and concrete shape of each
};

// A device of the session.
struct DeviceInfo {
  int threads = 1;  // of a set of cores
  Device name = 0;
};

// 1. Only what the fetches need. Fed tensors become "Feed" nodes, wanted ones end in "Fetch" nodes.
Ir prune(const Signature& signature, const std::vector<DeviceInfo>& devices);
// What a run does on one device between exchanges with the others. All later passes see one part at a time, so a plan
// is linked from separately compiled parts.
struct Part {
  Ir ir{};  // a "Receive" node for each thing that comes from another part, a "Send" node for each that goes to one
  int number = 0;
  int device = 0;
  // A write of `variable` here must wait for the reads of it in part `reader`.
  struct Hazard {
    const Node* variable = nullptr;
    int reader = 0;
    auto operator<=>(const Hazard&) const = default;
  };
  std::vector<Hazard> hazards{};
};
// What goes from one part to others: a value, only its shape, or only a signal that something is done.
struct Crossing {
  enum class Kind { value, shape, event } kind = Kind::value;
  int from = 0;           // part
  ValueId value = kNone;  // in that part's Ir
  const Node* origin = nullptr;
  int output = 0;           // of the origin
  int copy = 0;             // counts crossings of the same output
  int last_reader = kNone;  // part
  // Some reader runs on another device than `from`, or is planned for the elements.
  bool leaves_device = false;
  // Some reader runs on another kind of device, or is planned for the elements: it crosses plain, in host memory.
  bool through_host = false;
  bool sizes = false;  // shapes in later parts depend on the elements
};
struct Partition {
  std::vector<Part> parts;          // a part waits only for parts before it
  std::vector<Crossing> crossings;  // by the "crossing" attribute of Send and Receive
  // If shapes depend on data, parts from each of these on can be planned only when all before have run. Begins with 0.
  std::vector<int> stages{0};
};
// Between 1 and 2. A variable lives on one kind of device: what updates it runs there, and devices of other kinds are
// sent its value.
void place_variables(Ir& ir, const std::vector<DeviceInfo>& devices);
// After 1. Parts are as large as possible: with one device there is one, unless shapes depend on data.
Partition partition(Ir ir, const std::vector<DeviceInfo>& devices);
// 2. Makes every shape concrete by running the ops' shape rules again. `given` are values that other parts computed
// and that sizes depend on.
void infer_shapes(Ir& ir, const std::map<ValueId, Array>& given = {});
// 3. Constants computed, equal ops merged, identities and dead ends removed.
void simplify(Ir& ir);
// Reads before assignments: adds ordering edges, snapshots where that would be a cycle; unordered assignments throw.
void order_variables(Ir& ir);
// infer_shapes() and simplify() on one part, which then goes to a backend. `sizes` are the elements that it receives
// and that shapes depend on. Returns the shapes that cross to other parts, by crossing.
std::map<int, TensorInfo> prepare_part(Part& part, const std::vector<Crossing>& crossings,
                                       const std::map<ValueId, Array>& sizes = {});

}  // namespace belfry
