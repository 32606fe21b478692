// Queue and StagingArea: datapoints that enter a graph when a run needs them, instead of being fed.
//
//   Queue queue("input_queue", {{"image", f32, {kAny, 28, 28, 1}}, {"label", i32, {kAny}}}, {.capacity = 50});
//   Tensors in = queue.dequeue();                             // a run that needs these takes one point
//   ...
//   session.queue(queue)->put({{image, label}});              // from any thread; waits while the queue is full, and
//                                                             // gives false once it is closed or cancelled
//
// A run takes its points before it starts computing, one for each dequeue() that its results depend on, in the order in
// which these were made, and waits for them if necessary; data_queue.h says how such a wait ends. Tensors that
// are fed are not taken. A run that fails before it computes (a feed is missing, a variable has no value) puts its
// points back; one that fails while it computes has used them. A dequeue() inside a branch or loop body is an error:
// take outside and pass the tensors in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct QueueOptions {
  int capacity = 50;  // in points
};

// The base of both: a bounded, first-in first-out queue of points. The session that runs the graph owns its contents.
class PointStore {
 public:
  const std::vector<TensorSpec>& components() const { return components_; }
  // How many points there are, i32, at the moment when the op happens to run.
  Tensor size() const { return {node_, 0}; }
  const std::string& name() const;
  Node* node() const { return node_; }

 protected:
  PointStore(std::string_view name, std::vector<TensorSpec> components, int capacity, bool staging,
             const Location& where);
  Tensors take(std::string_view name, const Location& where) const;
  Operation put(const Tensors& values, std::string_view name, const Location& where) const;

 private:
  Node* node_ = nullptr;
  std::vector<TensorSpec> components_;
};

class Queue : public PointStore {
 public:
  Queue(std::string_view name, std::vector<TensorSpec> components, QueueOptions options = {},
        const Location& where = Location::current());
  // One tensor per component. Each call makes a separate op, which takes its own point.
  Tensors dequeue(std::string_view name = "", const Location& where = Location::current()) const {
    return take(name, where);
  }
  // Puts a copy of the values, in newly allocated memory. A full queue is an error: nobody could take from it while the
  // run waits.
  Operation enqueue(const Tensors& values, std::string_view name = "",
                    const Location& where = Location::current()) const {
    return put(values, name, where);
  }
};

// The same for points that one run prepares for the next: get() takes what an earlier run's put() left. It never waits:
// a run that gets from an empty area, or puts into a full one, throws. A run that does both gets first.
class StagingArea : public PointStore {
 public:
  StagingArea(std::string_view name, std::vector<TensorSpec> components, QueueOptions options = {.capacity = 1},
              const Location& where = Location::current());
  Tensors get(std::string_view name = "", const Location& where = Location::current()) const {
    return take(name, where);
  }
  Operation put(const Tensors& values, std::string_view name = "", const Location& where = Location::current()) const {
    return PointStore::put(values, name, where);
  }
};

}  // namespace belfry
#pragma GCC visibility pop
