// Handle<T>: one object of some class derived from T, however it is given, so that lists can be written in braces and
// nothing is `new`ed by hand:
//
//   std::vector<Handle<Callback>> callbacks{ModelSaver(), MinSaver("validation_error"), my_shared_pointer};
//
// Copies are the same object.
#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include "belfry/base/error.h"

#pragma GCC visibility push(default)
namespace belfry {

template <class T>
class Handle {
 public:
  Handle() = default;  // empty
  template <std::derived_from<T> U>
  Handle(U value) : object_(std::make_shared<U>(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  template <std::derived_from<T> U>
  Handle(std::shared_ptr<U> object) : object_(std::move(object)) {}  // NOLINT(google-explicit-constructor)
  template <std::derived_from<T> U>
  Handle(std::unique_ptr<U> object) : object_(std::move(object)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return object_ != nullptr; }
  T& operator*() const {
    if (object_ == nullptr) throw Error("[handle] expected an object, got an empty handle. Assign it first.");
    return *object_;
  }
  T* operator->() const { return &**this; }
  const std::shared_ptr<T>& shared() const { return object_; }
  bool operator==(const Handle&) const = default;

 private:
  std::shared_ptr<T> object_;
};

}  // namespace belfry
#pragma GCC visibility pop
