#include <fmt/format.h>

#include <cstring>

#include "belfry/array/internal/dispatch.h"
#include "belfry/base/log.h"
#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {
namespace {

// "[0.5, 1, ..., 7]" with `summarize` elements at each end.
std::string text_of(const TensorInfo& info, const void* data, std::int64_t summarize) {
  std::string out = "[";
  const std::int64_t n = info.elements();
  const bool whole = summarize < 0 || n <= 2 * summarize + 1;
  dispatch(info.dtype, [&]<class T>() {
    const T* x = static_cast<const T*>(data);
    for (std::int64_t i = 0; i < n; ++i) {
      if (!whole && i == summarize) {
        out += i > 0 ? ", ..." : "...";
        i = n - summarize;
        if (i == n) break;
      }
      if (i > 0) out += ", ";
      out += fmt::format("{}", x[i]);
    }
  });
  return out + "] " + std::string(name_of(info.dtype)) + " " + to_string(info.shape);
}

class Print final : public Kernel {
 public:
  explicit Print(const KernelContext& c)
      : data_(c.inputs.begin() + 1, c.inputs.end()),
        bytes_(c.output().bytes()),
        message_(c.attributes->get<std::string>("message")),
        every_(c.attributes->integer("every")),
        first_n_(c.attributes->integer("first_n")),
        summarize_(c.attributes->integer("summarize")) {}

  void bind(const Buffers& buffers) override { buffers_ = buffers; }
  void run(const Step&) override {
    const bool due = runs_++ % every_ == 0 && (first_n_ < 0 || logged_ < first_n_);
    if (due && log_enabled(LogLevel::info)) {
      ++logged_;
      log_line();
    }
    if (bytes_ > 0 && buffers_.outputs[0] != buffers_.inputs[0])
      std::memcpy(buffers_.outputs[0], buffers_.inputs[0], bytes_);
  }

 private:
  void log_line() const {
    std::string line = message_ + ":";
    for (std::size_t i = 0; i < data_.size(); ++i) line += " " + text_of(data_[i], buffers_.inputs[i + 1], summarize_);
    log_info(line);
  }

  std::vector<TensorInfo> data_;
  std::size_t bytes_;
  std::string message_;
  std::int64_t every_, first_n_, summarize_, runs_ = 0, logged_ = 0;
  Buffers buffers_;
};

const KernelRegistration print_kernel = define_kernel("Print").in_place(0).make(
    [](const KernelContext& c) -> KernelPtr { return std::make_unique<Print>(c); });

}  // namespace
}  // namespace belfry
