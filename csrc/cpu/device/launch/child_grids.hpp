// csrc/cpu/device/launch/child_grids.hpp - the work that the device code of one grid launches:
// kernels, copies and fills, their streams and events, and the errors of its threads.
//
// The work starts when the grid has ended, as CUDA permits: only cudaDeviceSynchronize of CDP1
// starts it earlier. Independent work runs in the order of the blocks that launched it, so results
// do not depend on the number of threads of the host.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/launch/launch.hpp"
#include "cpu/interpreter/device_runtime.hpp"
#include "platform/runtime_error.hpp"

namespace cupola::cpu {

class GraphRun;
class Module;

// Fails with an error of the device runtime.
inline void require(bool condition, runtime_error::Code code) {
    require(condition, static_cast<CUresult>(code));
}

class ChildGrids final : public DeviceRuntime {
  public:
    // A limit of the nesting for the stack of the host's thread, whatever the program's limit is:
    // each level takes about 500 bytes. A grid of the host has depth 0.
    static constexpr unsigned max_depth = 2048;
    using MakeGrid = std::unique_ptr<Operation> (*)(KernelCall call, int priority, unsigned depth);

    // `module`: the kernels that the grid can launch. `run`: of its graph, for launches of graphs;
    // null outside of graphs.
    ChildGrids(std::shared_ptr<Context> context, std::shared_ptr<Module> module, int priority,
               unsigned depth, MakeGrid make_grid, std::shared_ptr<GraphRun> run);
    ~ChildGrids() override;
    DeviceOutcome call(const DeviceFunction& function, DeviceCall& call) override;

    // Runs all work but tail launches. Called when the grid has ended.
    void run();
    // The tail launches, in their order. Called after run().
    std::vector<std::unique_ptr<Operation>> take_tails();
    // Whether the context can still run work.
    bool usable() const;

    // The functions below are for those of the device runtime. A Failure has the number of a
    // cudaError_t.
    Context& context() const { return *context_; }
    std::shared_ptr<Function> kernel_at(std::uint64_t address) const;
    int last_error(const DeviceCall& call, bool reset);
    void set_error(const DeviceCall& call, int error);
    // The device address of a text.
    std::uintptr_t device_text(const char* text);

    // A buffer for the arguments of a launch, of the given size or for a checked launch. Returns 0
    // if memory is missing.
    std::uintptr_t make_buffer(std::uint64_t bytes);
    std::pair<std::uintptr_t, std::uint64_t> make_buffer(std::uint64_t kernel,
                                                         const LaunchShape& shape);
    void launch(std::uint64_t block, std::uintptr_t buffer, std::uint64_t stream);
    void launch(std::uint64_t block, std::uint64_t kernel, const LaunchShape& shape,
                std::uintptr_t buffer, std::uint64_t stream);
    void launch_graph(std::uint64_t block, std::uint64_t graph, std::uint64_t stream);
    void add(std::uint64_t block, std::uint64_t stream, std::unique_ptr<Operation> work);
    // Runs the work that a block has launched so far.
    void run_block(std::uint64_t block);

    std::uint64_t create_stream();
    void destroy_stream(std::uint64_t stream);
    std::uint64_t create_event();
    void destroy_event(std::uint64_t event);
    void record(std::uint64_t block, std::uint64_t event, std::uint64_t stream);
    void wait(std::uint64_t block, std::uint64_t stream, std::uint64_t event);

  private:
    static constexpr std::size_t none = ~std::size_t{0};
    struct Item {
        std::unique_ptr<Operation> work;  // null for an event's record and for a wait
        std::uint64_t block = 0;
        std::size_t earlier = none, awaited = none;  // items that run before
        bool done = false;
    };
    struct Buffer {
        std::uint64_t bytes = 0;
        std::shared_ptr<Function> function;  // null for a buffer of a size
        LaunchShape shape;
    };
    // A named stream, or the unnamed stream of a block.
    using StreamKey = std::pair<bool, std::uint64_t>;

    Buffer take_buffer(std::uintptr_t address, std::vector<std::byte>& bytes);
    void launch(std::uint64_t block, std::shared_ptr<Function> function, const LaunchShape& shape,
                std::vector<std::byte> parameters, std::uint64_t stream);
    StreamKey key_of(std::uint64_t block, std::uint64_t stream) const;
    template <class Use>
    void add_mark(std::uint64_t block, std::uint64_t stream, std::uint64_t event, Use use);
    std::size_t append(const StreamKey* stream, Item item);
    void run_items(std::vector<std::size_t> items);
    void run_item(std::size_t index);

    const std::shared_ptr<Context> context_;
    const std::shared_ptr<Module> module_;
    const int priority_;
    const unsigned depth_;
    const MakeGrid make_grid_;
    const std::shared_ptr<GraphRun> run_;
    const std::size_t limit_;  // number of launches that are not complete

    std::mutex running_;  // held while work runs; locked before mutex_
    std::mutex mutex_;
    std::deque<Item> items_;
    std::map<StreamKey, std::size_t> last_;  // the last item of a stream
    std::vector<std::unique_ptr<Operation>> tails_;
    std::uint64_t last_handle_ = std::uint64_t{1} << 40;
    std::map<std::uint64_t, std::size_t> streams_, events_;  // events: the item of the last record
    std::map<std::uintptr_t, Buffer> buffers_;
    std::map<const char*, std::uintptr_t> texts_;
    std::unordered_map<std::uint64_t, int> errors_;  // errors of threads that have an error
};

}  // namespace cupola::cpu
