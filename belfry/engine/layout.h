// How a tensor lies in a device's memory. Only the device's backend knows what that means; all other code only compares
// it and passes it on, from the part that makes a value to the parts of the same backend that read it. What goes
// between backends, and in and out of a run, is plain: dense and row-major. Internal to engine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace belfry {

class Layout {
 public:
  // A backend's own kinds of order.
  class Form {
   public:
    virtual ~Form() = default;
    virtual bool equals(const Form& other) const = 0;  // of the same backend
    virtual std::string name() const = 0;              // for explain()
    virtual std::size_t bytes() const = 0;             // that the tensor takes, padding included
  };

  Layout() = default;  // plain
  explicit Layout(std::shared_ptr<const Form> form) : form_(std::move(form)) {}

  bool plain() const { return form_ == nullptr; }
  const Form& form() const { return *form_; }  // not of a plain one
  std::string name() const { return plain() ? "plain" : form_->name(); }
  bool operator==(const Layout& other) const {
    return form_ == other.form_ || (form_ && other.form_ && form_->equals(*other.form_));
  }

 private:
  std::shared_ptr<const Form> form_;
};

}  // namespace belfry
