// cupola/error.hpp - statuses of the C ABI as one exception.
#ifndef CUPOLA_ERROR_HPP
#define CUPOLA_ERROR_HPP

#include <stdexcept>
#include <string>

#include "cupola/library.h"

namespace cupola {

class error : public std::runtime_error {
  public:
    explicit error(const cupola_error_info& info)
        : std::runtime_error(info.text),
          status_(info.status),
          code_(info.code),
          name_(info.name),
          log_(info.log) {}
    int status() const noexcept { return status_; }             // cupola_status
    int code() const noexcept { return code_; }                 // the driver's CUresult, or 0
    const std::string& name() const noexcept { return name_; }  // "CUDA_ERROR_...", or ""
    const std::string& log() const noexcept { return log_; }    // of the JIT compiler, or ""

  private:
    int status_, code_;
    std::string name_, log_;
};

// Throws this thread's last failure unless status is CUPOLA_SUCCESS.
inline void check(int status) {
    if (status == CUPOLA_SUCCESS) return;
    cupola_error_info info;
    cupola_last_error_info(&info);
    throw error(info);
}

}  // namespace cupola

#endif  // CUPOLA_ERROR_HPP
