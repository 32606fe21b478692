#include "belfry/engine/passes.h"

namespace belfry {

// A program is pruned and cut into parts once; each part goes through the other passes for the shapes it meets.
std::map<int, TensorInfo> prepare_part(Part& part, const std::vector<Crossing>& crossings,
                                       const std::map<ValueId, Array>& sizes) {
  infer_shapes(part.ir, sizes);
  std::map<int, TensorInfo> shapes;
  for (std::size_t i = 0; i < crossings.size(); ++i)
    if (crossings[i].kind == Crossing::Kind::shape && crossings[i].from == part.number)
      shapes[static_cast<int>(i)] = part.ir.info(crossings[i].value);
  simplify(part.ir);
  return shapes;
}

}  // namespace belfry
