// tests/sanitizer/report_path.cpp - sends UBSan's reports to the file that UBSAN_OPTIONS names.
// libasan.so comes first, and its __sanitizer_set_report_path hides that of libubsan.so.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

[[gnu::constructor]] static void set_report_path() {
    const char* options = std::getenv("UBSAN_OPTIONS");
    const std::string text = options ? options : "", name = "log_path=";
    const std::size_t at = text.find(name);
    void* library = dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (at == std::string::npos || !library) return;
    if (void* set = dlsym(library, "__sanitizer_set_report_path"))
        reinterpret_cast<void (*)(const char*)>(set)(text.substr(at + name.size()).c_str());
}
