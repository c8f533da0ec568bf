// csrc/cpu/device/base/registry.hpp - the live handles. A handle is its object's address and is
// looked up before use, so a stale or invalid handle is an error and not a crash.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {

template <class T>
class Registry {
  public:
    void add(std::shared_ptr<T> object) {
        std::unique_lock lock(mutex_);
        const void* key = object.get();
        objects_.emplace(key, std::move(object));
    }
    // Null if the handle is not alive.
    std::shared_ptr<T> find(const void* handle) const {
        std::shared_lock lock(mutex_);
        const auto it = objects_.find(handle);
        return it == objects_.end() ? nullptr : it->second;
    }
    std::shared_ptr<T> get(const void* handle,
                           CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) const {
        auto object = find(handle);
        require(object != nullptr, otherwise);
        return object;
    }
    // Removes and returns the object; null if another call has removed it.
    std::shared_ptr<T> remove(const void* handle) {
        std::unique_lock lock(mutex_);
        const auto it = objects_.find(handle);
        if (it == objects_.end()) return nullptr;
        auto object = std::move(it->second);
        objects_.erase(it);
        return object;
    }
    template <class Predicate>
    std::vector<std::shared_ptr<T>> remove_if(Predicate&& predicate) {
        std::vector<std::shared_ptr<T>> removed;
        std::unique_lock lock(mutex_);
        for (auto it = objects_.begin(); it != objects_.end();) {
            if (predicate(*it->second)) {
                removed.push_back(std::move(it->second));
                it = objects_.erase(it);
            } else {
                ++it;
            }
        }
        return removed;
    }

  private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<T>> objects_;
};

}  // namespace cupola::cpu
