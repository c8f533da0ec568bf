// cupola/graph.hpp - graphs of work that is launched many times.
#ifndef CUPOLA_GRAPH_HPP
#define CUPOLA_GRAPH_HPP

#include <initializer_list>

#include "cupola/device.hpp"
#include "cupola/graph.h"
#include "cupola/handle.hpp"

namespace cupola {

// An executable graph.
class graph_exec
    : public handle<cupola_graph_exec, cupola_graph_exec_retain, cupola_graph_exec_release> {
  public:
    explicit graph_exec(cupola_graph_exec* taken) noexcept : handle(taken) {}

    void launch(cupola_stream* stream = nullptr) { check(cupola_graph_exec_launch(get(), stream)); }
    void upload(cupola_stream* stream = nullptr) { check(cupola_graph_exec_upload(get(), stream)); }
    // Updates to another graph of the same nodes and edges.
    void update(const cupola_graph* graph) { check(cupola_graph_exec_update(get(), graph)); }
    void* native() const noexcept { return cupola_graph_exec_handle(get()); }  // CUgraphExec
};

class graph : public handle<cupola_graph, cupola_graph_retain, cupola_graph_release> {
  public:
    using nodes = std::initializer_list<cupola_node>;

    explicit graph(const device& device = cupola::device()) : handle(create(device)) {}

    cupola_node copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, nodes after = {}) {
        cupola_node node = nullptr;
        check(cupola_graph_add_copy(get(), after.begin(), after.size(), to, from, bytes, &node));
        return node;
    }
    // Writes `count` times the low `width` (1, 2 or 4) bytes of value.
    cupola_node fill(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
                     nodes after = {}) {
        cupola_node node = nullptr;
        check(cupola_graph_add_fill(get(), after.begin(), after.size(), to, value, width, count,
                                    &node));
        return node;
    }
    // The cupola_argument_ functions fill the buffer.
    cupola_node launch(cupola_kernel* kernel, const cupola_dimensions& dimensions,
                       const void* buffer, nodes after = {}) {
        cupola_node node = nullptr;
        check(cupola_graph_add_kernel(get(), after.begin(), after.size(), kernel, &dimensions,
                                      buffer, &node));
        return node;
    }
    cupola_node child(const graph& other, nodes after = {}) {
        cupola_node node = nullptr;
        check(cupola_graph_add_child(get(), after.begin(), after.size(), other.get(), &node));
        return node;
    }
    graph_exec instantiate() const {
        cupola_graph_exec* exec = nullptr;
        check(cupola_graph_instantiate(get(), &exec));
        return graph_exec(exec);
    }
    void* native() const noexcept { return cupola_graph_handle(get()); }  // CUgraph

    // Captures the work that `queue` puts on the stream. If it throws, the capture ends, too.
    template <class Queue>
    static graph capture(cupola_stream* stream, Queue&& queue,
                         int mode = CUPOLA_CAPTURE_THREAD_LOCAL) {
        check(cupola_capture_begin(stream, mode));
        try {
            queue();
        } catch (...) {
            cupola_graph* spoilt = nullptr;
            if (cupola_capture_end(stream, &spoilt) == CUPOLA_SUCCESS) cupola_graph_release(spoilt);
            throw;
        }
        cupola_graph* made = nullptr;
        check(cupola_capture_end(stream, &made));
        return graph(made);
    }

  private:
    explicit graph(cupola_graph* taken) noexcept : handle(taken) {}
    static cupola_graph* create(const device& device) {
        cupola_graph* out = nullptr;
        check(cupola_graph_create(device.ordinal(), &out));
        return out;
    }
};

}  // namespace cupola

#endif  // CUPOLA_GRAPH_HPP
