#include "belfry/engine/device_team.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "belfry/base/parallel.h"

namespace belfry {

struct DeviceTeam::Impl {
  std::mutex mutex;
  std::condition_variable wake, done;
  // All guarded by mutex.
  std::uint64_t round = 0;
  int wanted = 0, running = 0;
  bool stop = false;
  FunctionRef<void(int)>* body = nullptr;
  std::vector<std::thread> threads;

  void serve(int device, int team) {
    const TeamScope scope(team);
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stop || (round != seen); });
      if (stop) return;
      seen = round;
      if (device >= wanted) continue;
      FunctionRef<void(int)>& work = *body;
      lock.unlock();
      work(device);
      lock.lock();
      if (--running == 0) done.notify_one();
    }
  }
};

DeviceTeam::DeviceTeam(std::vector<DeviceInfo> devices)
    : devices_(std::move(devices)), impl_(std::make_unique<Impl>()) {
  for (int d = 1; d < static_cast<int>(devices_.size()); ++d)
    impl_->threads.emplace_back([this, d] { impl_->serve(d, devices_[static_cast<std::size_t>(d)].threads); });
}

DeviceTeam::~DeviceTeam() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->wake.notify_all();
  for (std::thread& thread : impl_->threads) thread.join();
}

void DeviceTeam::run(int devices, FunctionRef<void(int)> body) {
  const TeamScope scope(devices_[0].threads);
  if (devices <= 1) return body(0);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->body = &body;
    impl_->wanted = devices;
    impl_->running = devices - 1;
    ++impl_->round;
  }
  impl_->wake.notify_all();
  body(0);
  std::unique_lock lock(impl_->mutex);
  impl_->done.wait(lock, [&] { return impl_->running == 0; });
}

}  // namespace belfry
