// All or nothing: what is added to a graph while a transaction lives is taken back at its end, unless keep() was
// called or a session has compiled some of it by then. So a definition that fails half-way leaves no names, variables
// or collected items behind and can simply be repeated.
//
//   GraphTransaction transaction(graph);
//   ... ops, variables ...                 // may throw
//   transaction.keep();
#pragma once

#include <cstddef>

#include "belfry/graph/collections.h"

namespace belfry {

class GraphTransaction {
 public:
  explicit GraphTransaction(Graph& graph);
  ~GraphTransaction();
  GraphTransaction(const GraphTransaction&) = delete;
  GraphTransaction& operator=(const GraphTransaction&) = delete;

  void keep() { kept_ = true; }

 private:
  Graph& graph_;
  bool kept_ = false;
  std::size_t nodes_, variables_, gradients_, scopes_, layers_;
  Collections::Sizes collections_;
};

}  // namespace belfry
