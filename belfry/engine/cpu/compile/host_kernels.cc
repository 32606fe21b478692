#include "belfry/engine/cpu/compile/host_kernels.h"

#include <cstdint>
#include <cstring>

#include "belfry/base/check.h"
#include "belfry/base/internal/aligned_memory.h"
#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/own_memory.h"
#include "belfry/graph/node.h"

namespace belfry {
namespace {

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  parallel_for(static_cast<std::int64_t>(bytes), 1 << 18, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<std::size_t>(end - begin));
  });
}

class CopiedFeedKernel final : public Kernel {
 public:
  CopiedFeedKernel(const void* const* slot, std::size_t bytes) : slot_(slot), bytes_(bytes) {}
  void bind(const Buffers& buffers) override { to_ = buffers.outputs[0]; }
  void run(const Step&) override {
    if (*slot_ != nullptr) copy_bytes(to_, *slot_, bytes_);
  }

 private:
  const void* const* slot_;
  std::size_t bytes_;
  void* to_ = nullptr;
};

class FeedKernel final : public Kernel, public OwnMemory {
 public:
  FeedKernel(const void* const* slot, std::size_t bytes, FedValue& value) : slot_(slot), bytes_(bytes), value_(value) {}
  std::size_t own_bytes() const override { return own_ == nullptr ? 0 : bytes_; }
  void bind(const Buffers&) override {}
  void run(const Step&) override {
    value_.data = *slot_;
    if (reinterpret_cast<std::uintptr_t>(*slot_) % kBufferAlignment == 0) return;
    if (own_ == nullptr) own_ = allocate_zeroed_buffer(bytes_);
    copy_bytes(own_.get(), *slot_, bytes_);
    value_.data = own_.get();
  }

 private:
  const void* const* slot_;
  std::size_t bytes_;
  FedValue& value_;
  std::shared_ptr<void> own_;  // for data that is not aligned as kernels expect
};

// Binds its kernel again if a fed value has moved since the last run; all else is bound before the first.
class FedKernel final : public Kernel, public OwnMemory {
 public:
  FedKernel(KernelPtr kernel, std::vector<FedInput> fed) : kernel_(std::move(kernel)), fed_(std::move(fed)) {}
  std::size_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  std::size_t own_bytes() const override {
    const auto* owner = dynamic_cast<const OwnMemory*>(kernel_.get());
    return owner == nullptr ? 0 : owner->own_bytes();
  }
  void bind(const Buffers& buffers) override {
    buffers_ = buffers;
    kernel_->bind(buffers_);
  }
  void run(const Step& step) override {
    bool moved = false;
    for (const FedInput& input : fed_) {
      const void*& data = buffers_.inputs[static_cast<std::size_t>(input.index)];
      moved |= data != input.value->data;
      data = input.value->data;
    }
    if (moved) kernel_->bind(buffers_);
    kernel_->run(step);
  }
  std::string describe() const override { return kernel_->describe(); }
  bool is_dnnl() const override { return kernel_->is_dnnl(); }

 private:
  KernelPtr kernel_;
  std::vector<FedInput> fed_;
  Buffers buffers_;
};

class FetchKernel final : public Kernel {
 public:
  FetchKernel(void* const* slot, std::size_t bytes) : slot_(slot), bytes_(bytes) {}
  void bind(const Buffers& buffers) override { from_ = buffers.inputs[0]; }
  void run(const Step&) override {
    if (*slot_ != nullptr) copy_bytes(*slot_, from_, bytes_);
  }

 private:
  void* const* slot_;
  std::size_t bytes_;
  const void* from_ = nullptr;
};

class HostKernelAdapter final : public Kernel {
 public:
  HostKernelAdapter(const HostKernel& function, const KernelContext& context)
      : function_(function),
        origin_(*context.origin),
        inputs_(context.inputs.begin(), context.inputs.end()),
        outputs_(context.outputs.begin(), context.outputs.end()) {}
  void bind(const Buffers& b) override {
    ins_.clear();
    outs_.clear();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      ins_.emplace_back(inputs_[i].dtype, inputs_[i].shape, const_cast<void*>(b.inputs[i]), nullptr);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      outs_.emplace_back(outputs_[i].dtype, outputs_[i].shape, b.outputs[i], nullptr);
    buffers_ = b.outputs;
  }
  void run(const Step&) override {
    try {
      function_(HostKernelContext(ins_, outs_, origin_.attributes));
      for (std::size_t i = 0; i < outs_.size(); ++i) keep(i);
    } catch (const NumericError& error) {
      rethrow<NumericError>(error);
    } catch (const FileError& error) {
      rethrow<FileError>(error);
    } catch (const std::exception& error) {
      rethrow<Error>(error);
    }
  }
  std::string describe() const override { return "user"; }

 private:
  // `out[0] = in[0]` replaces the handle instead of filling the buffer: its contents are copied in.
  void keep(std::size_t i) {
    if (outs_[i].raw() == buffers_[i]) return;
    BELFRY_CHECK(outs_[i].dtype() == outputs_[i].dtype && outs_[i].shape() == outputs_[i].shape,
                 "expected output {} of {} {}, got {} {}. Write into its values()", i, name_of(outputs_[i].dtype),
                 to_string(outputs_[i].shape), name_of(outs_[i].dtype()), to_string(outs_[i].shape()));
    if (outs_[i].bytes() > 0) std::memcpy(buffers_[i], outs_[i].raw(), outs_[i].bytes());
    outs_[i] = Array(outputs_[i].dtype, outputs_[i].shape, buffers_[i], nullptr);
  }

  template <class ErrorType>
  [[noreturn]] void rethrow(const std::exception& error) const {
    fail<ErrorType>("{} {} {}", belfry::describe(origin_), error.what(), made_at(origin_));
  }

  const HostKernel& function_;
  const Node& origin_;
  std::vector<TensorInfo> inputs_, outputs_;
  std::vector<Array> ins_, outs_;
  std::vector<void*> buffers_;
};

}  // namespace

KernelPtr copied_feed_kernel(const void* const* slot, std::size_t bytes) {
  return std::make_unique<CopiedFeedKernel>(slot, bytes);
}
KernelPtr feed_kernel(const void* const* slot, std::size_t bytes, FedValue& value) {
  return std::make_unique<FeedKernel>(slot, bytes, value);
}
KernelPtr fed_kernel(KernelPtr kernel, std::vector<FedInput> fed) {
  return std::make_unique<FedKernel>(std::move(kernel), std::move(fed));
}
KernelPtr fetch_kernel(void* const* slot, std::size_t bytes) { return std::make_unique<FetchKernel>(slot, bytes); }
KernelPtr host_kernel(const HostKernel& function, const KernelContext& context) {
  return std::make_unique<HostKernelAdapter>(function, context);
}

}  // namespace belfry
