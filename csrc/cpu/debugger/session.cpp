// csrc/cpu/debugger/session.cpp - sends events to the front end, and lets it answer.
#include "cpu/debugger/session.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::debugger {

namespace {

class DebuggerObserver final : public observe::Observer {
  public:
    std::shared_ptr<observe::GridObserver> launched(const Launch& launch) override {
        Session* const session = Session::get();
        return session ? session->launched(launch) : nullptr;
    }
};

}  // namespace

std::atomic<Session*> Session::instance{nullptr};

bool Session::connect(const std::string& path, std::string& error) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        error = "CUPOLA_CPU_DEBUG is \"" + path + "\"; expected the path of a Unix socket, of at " +
                "most " + std::to_string(sizeof address.sun_path - 1) + " bytes";
        return false;
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        error = "no debugger listens at CUPOLA_CPU_DEBUG=" + path + ": " + std::strerror(errno) +
                "; unset the variable, or use python -m cupola debug";
        if (fd >= 0) close(fd);
        return false;
    }
    // Never destroyed: threads outlive static objects.
    auto* const session = new Session;
    session->socket_ = fd;
    session->send("!{\"event\":\"hello\",\"version\":" + std::to_string(protocol_version) +
                  ",\"process\":" + std::to_string(getpid()) + "}");
    instance.store(session, std::memory_order_release);
    return true;
}

bool Session::attach(Handler handler) {
    Session* session = get();
    if (session && session->socket_ >= 0) return false;
    if (!session) session = new Session;
    session->handler_.store(handler);
    instance.store(session, std::memory_order_release);
    return true;
}

std::shared_ptr<GridStops> Session::launched(const Launch& launch) {
    if (lost_.load() || (socket_ < 0 && !handler_.load())) return nullptr;
    auto grid = std::make_shared<GridStops>(*this, launch);
    std::lock_guard lock(mutex_);
    const Outcome outcome = converse({*grid}, launch_event(*grid));
    if (outcome == Outcome::skip) grid->silence();
    return outcome == Outcome::skip ? nullptr : grid;
}

void Session::ended(GridStops& grid) {
    std::lock_guard lock(mutex_);
    if (!lost_.load())
        converse({grid},
                 "{\"event\":\"ended\",\"grid\":" + std::to_string(grid.launch.grid_id) + "}");
}

Outcome Session::stop(GridStops& grid, interpreter::BlockState& block, interpreter::Warp& w,
                      const interpreter::DecodedOp* ip, const Reason& why) {
    std::lock_guard lock(mutex_);
    if (lost_.load()) return Outcome::resume;
    stopped_.store(true);
    const Stopped at{grid, &block, &w, ip};
    const Outcome outcome = converse(at, stop_event(at, why));
    stopped_.store(false);
    if (outcome == Outcome::end) grid.silence();
    return outcome;
}

Outcome Session::converse(const Stopped& at, const std::string& event) {
    const Handler handler = handler_.load();
    if (!handler) return send("!" + event) ? listen(at) : Outcome::skip;
    at_ = &at;
    outcome_ = Outcome::stay;
    left_.store(false);
    handler(event.c_str());
    at_ = nullptr;
    // The front end raises an exception in this thread, which it cannot do inside of the handler.
    for (int n = 0; n < 1000 && outcome_ == Outcome::end && !left_.load(); ++n)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return outcome_ == Outcome::stay ? Outcome::resume : outcome_;
}

Outcome Session::listen(const Stopped& at) {
    for (std::string payload, reply;;) {
        if (!receive(payload, &at)) return Outcome::skip;
        if (payload == "pause") {
            pause_.store(true);
            continue;
        }
        const Outcome outcome = answer(at, payload, reply);
        if (!send(reply)) return Outcome::skip;
        if (outcome != Outcome::stay) return outcome;
    }
}

const std::string& Session::request(std::string_view payload) {
    if (payload == "leave") {
        left_.store(true);
        return reply_ = "+";
    }
    if (!at_ || outcome_ != Outcome::stay)
        reply_ = "-no launch is stopped";
    else
        outcome_ = answer(*at_, payload, reply_);
    return reply_;
}

void Session::poll() {
    if (const Handler handler = handler_.load()) {
        std::lock_guard lock(mutex_);
        if (handler("{\"event\":\"poll\"}") != 0) pause_.store(true);
        return;
    }
    pollfd ready{socket_, POLLIN, 0};
    if (lost_.load() || ::poll(&ready, 1, 0) != 1) return;
    std::lock_guard lock(mutex_);
    std::string payload;
    if (receive(payload, nullptr) && payload == "pause") pause_.store(true);
}

bool Session::note(std::string_view text) {
    std::lock_guard lock(mutex_);
    return socket_ >= 0 && send(std::string("!").append(text));
}

bool Session::send(std::string_view payload) {
    const std::string frame = frame_of(payload);
    for (std::size_t sent = 0; sent < frame.size() && !lost_.load();) {
        const ssize_t n = ::send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += static_cast<std::size_t>(n);
        else if (errno != EINTR)
            lose();
    }
    return !lost_.load();
}

// The wait ends when the process stops the launch.
bool Session::read(void* to, std::size_t bytes, const Stopped* at) {
    constexpr int milliseconds = 50;
    auto* next = static_cast<char*>(to);
    while (bytes != 0) {
        if (at && at->grid.launch.stop && at->grid.launch.stop->load()) return false;
        pollfd ready{socket_, POLLIN, 0};
        if (::poll(&ready, 1, milliseconds) < 1) continue;
        const ssize_t n = recv(socket_, next, bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            lose();
            return false;
        }
        next += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return true;
}

bool Session::receive(std::string& payload, const Stopped* at) {
    unsigned char head[4];
    if (!read(head, sizeof head, at)) return false;
    const auto bytes = frame_bytes(head);
    if (!bytes) {
        lose();
        return false;
    }
    payload.resize(*bytes);
    return read(payload.data(), payload.size(), at);
}

// Without its front end, a program continues without stops.
void Session::lose() {
    lost_.store(true);
    close(socket_);
}

observe::Observer& observer() {
    static auto* const made = new DebuggerObserver;
    return *made;
}

}  // namespace cupola::cpu::debugger
