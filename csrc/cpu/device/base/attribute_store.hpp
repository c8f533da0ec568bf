// csrc/cpu/device/base/attribute_store.hpp - attributes that a program can set and read, without
// effect here.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class AttributeStore {
  public:
    using Values = std::map<CUlaunchAttributeID, CUlaunchAttributeValue>;

    std::optional<CUlaunchAttributeValue> get(CUlaunchAttributeID id) const {
        std::lock_guard lock(mutex_);
        const auto it = values_.find(id);
        return it == values_.end() ? std::nullopt : std::optional(it->second);
    }
    void set(CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
        std::lock_guard lock(mutex_);
        values_[id] = value;
    }
    Values all() const {
        std::lock_guard lock(mutex_);
        return values_;
    }
    void take(Values values) {
        std::lock_guard lock(mutex_);
        values_ = std::move(values);
    }

  private:
    mutable std::mutex mutex_;
    Values values_;
};

}  // namespace cupola::cpu
