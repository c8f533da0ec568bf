// csrc/runtime/driver/stdio_redirect.hpp - reads what a driver writes to the file descriptors 1 and
// 2 while the host synchronizes.
#pragma once

#include <string>

namespace cupola {

// Redirects the process's output: the first thread begins the redirection, the last thread ends it.
class StdioRedirect {
  public:
    struct Text {
        std::string output, standard_error;
    };
    // False if the system has no descriptors left: the text goes where it went before.
    static bool begin();
    // The text so far, if this thread was the last.
    static Text end();

    // The last failed assertion that was found in such a text.
    static void set_assertion(const std::string& assertion);
    static std::string assertion();
};

}  // namespace cupola
