// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// graph: shortest paths from vertex 0 of a weighted graph with a few very busy vertices, without any global step.
// Vertices are distributed to the ranks in turn. A rank takes its nearest open vertices, and sends shorter distances to
// the owners of their neighbours in many small messages. No rank knows in advance which ranks send to it, or which
// message is the last one.
// Receives take any source: from a pool of posted persistent ones, or by matched probes.
// The end is found by Safra's token, which counts messages around a ring (Dijkstra, EWD 998, 1987).
// Check: distances equal those of a serial Dijkstra on the same graph.
// The graph is R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004) with the Graph500 probabilities. Message counts vary from
// run to run, the distances do not.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "common/options.h"
#include "common/random.h"
#include "common/tally.h"

namespace {

using Vertex = std::uint32_t;
using Distance = std::uint32_t;

constexpr Distance kUnreached = std::numeric_limits<Distance>::max();
constexpr int kTagUpdates = 1, kTagToken = 2;
/// Most updates in one message; sizes the receive buffers.
constexpr int kMostUpdates = 256;

enum Seed : std::uint64_t { kSeedQuadrant = 1, kSeedWeight = 2 };

struct Edge {
    Vertex to;
    Distance weight;
};

/// What a message carries, as two 32-bit words.
struct Update {
    Vertex vertex;
    Distance distance;
};

struct Graph {
    std::vector<std::size_t> start;  ///< edges of vertex v: from start[v] to start[v + 1]
    std::vector<Edge> edges;
};

/// Undirected, 2^scale vertices; edges may repeat and lead from a vertex to itself.
Graph make_graph(long scale, long degree) {
    const std::size_t vertices = std::size_t{1} << scale;
    std::vector<std::pair<Vertex, Edge>> list;
    for (std::uint64_t i = 0; i < vertices * static_cast<std::uint64_t>(degree); ++i) {
        Vertex ends[2] = {0, 0};
        for (long level = 0; level < scale; ++level) {
            const double dice = random_unit(kSeedQuadrant, i * 32 + static_cast<std::uint64_t>(level));
            // Graph500: 0.57, 0.19, 0.19 and 0.05 for the four quadrants.
            ends[0] = ends[0] * 2 + (dice >= 0.76 ? 1 : 0);
            ends[1] = ends[1] * 2 + ((dice >= 0.57 && dice < 0.76) || dice >= 0.95 ? 1 : 0);
        }
        const auto weight = static_cast<Distance>(1 + random_bits(kSeedWeight, i) % 255);
        list.push_back({ends[0], {ends[1], weight}});
        list.push_back({ends[1], {ends[0], weight}});
    }
    Graph graph;
    graph.start.assign(vertices + 1, 0);
    for (const auto &[from, edge] : list) {
        ++graph.start[from + 1];
    }
    for (std::size_t v = 0; v < vertices; ++v) {
        graph.start[v + 1] += graph.start[v];
    }
    graph.edges.resize(list.size());
    std::vector<std::size_t> next(graph.start.begin(), graph.start.end() - 1);
    for (const auto &[from, edge] : list) {
        graph.edges[next[from]++] = edge;
    }
    return graph;
}

/// Open vertices, nearest first; entries that a better distance has overtaken are skipped by who takes them.
using Frontier = std::priority_queue<std::pair<Distance, Vertex>, std::vector<std::pair<Distance, Vertex>>, std::greater<>>;

std::vector<Distance> serial_distances(const Graph &graph) {
    std::vector<Distance> distance(graph.start.size() - 1, kUnreached);
    Frontier open;
    distance[0] = 0;
    open.push({0, 0});
    while (!open.empty()) {
        const auto [reached, vertex] = open.top();
        open.pop();
        if (reached > distance[vertex]) {
            continue;
        }
        for (std::size_t e = graph.start[vertex]; e < graph.start[vertex + 1]; ++e) {
            const Distance offer = reached + graph.edges[e].weight;
            if (offer < distance[graph.edges[e].to]) {
                distance[graph.edges[e].to] = offer;
                open.push({offer, graph.edges[e].to});
            }
        }
    }
    return distance;
}

enum Colour : std::int64_t { kWhite, kBlack, kFinished };

/// Safra's token: the sum of (sent - received) over the ranks it passed, and whether one of them was black.
struct Token {
    std::int64_t balance, colour;
};

/// One arrived message.
struct Message {
    int tag;
    std::vector<Update> updates;
    Token token;
};

/// How messages come in. `wait` blocks until there is at least one.
class Inbox {
public:
    virtual ~Inbox() = default;
    virtual std::vector<Message> take(bool wait) = 0;
};

/// A pool of persistent receives from any source, and one for the token, posted all the time.
class PoolInbox final : public Inbox {
public:
    PoolInbox(int depth, int batch, int token_source, MPI_Comm comm, tally *count)
        : buffers_(static_cast<std::size_t>(depth)), requests_(buffers_.size() + 1), done_(requests_.size()),
          statuses_(requests_.size()), count_(count) {
        for (std::size_t i = 0; i < buffers_.size(); ++i) {
            buffers_[i].resize(static_cast<std::size_t>(batch));
            MPI_Recv_init(buffers_[i].data(), 2 * batch, MPI_UINT32_T, MPI_ANY_SOURCE, kTagUpdates, comm, &requests_[i]);
        }
        MPI_Recv_init(&token_, 2, MPI_INT64_T, token_source, kTagToken, comm, &requests_.back());
        MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    }
    PoolInbox(const PoolInbox &) = delete;
    PoolInbox &operator=(const PoolInbox &) = delete;
    /// After the last message: what is still posted matches nothing and is cancelled.
    ~PoolInbox() override {
        for (MPI_Request &request : requests_) {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Request_free(&request);
        }
    }
    std::vector<Message> take(bool wait) override {
        int many;
        const auto look = wait ? MPI_Waitsome : MPI_Testsome;
        look(static_cast<int>(requests_.size()), requests_.data(), &many, done_.data(), statuses_.data());
        std::vector<Message> messages;
        for (int i = 0; i < many; ++i) {
            const auto which = static_cast<std::size_t>(done_[static_cast<std::size_t>(i)]);
            const MPI_Status &status = statuses_[static_cast<std::size_t>(i)];
            if (which == buffers_.size()) {
                tally_receive(count_, &status, MPI_INT64_T);
                messages.push_back({kTagToken, {}, token_});
            } else {
                int words;
                MPI_Get_count(&status, MPI_UINT32_T, &words);
                tally_receive(count_, &status, MPI_UINT32_T);
                messages.push_back({kTagUpdates, {buffers_[which].begin(), buffers_[which].begin() + words / 2}, {}});
            }
            MPI_Start(&requests_[which]);
        }
        return messages;
    }

private:
    std::vector<std::vector<Update>> buffers_;
    Token token_{};
    std::vector<MPI_Request> requests_;
    std::vector<int> done_;
    std::vector<MPI_Status> statuses_;
    tally *count_;
};

/// Nothing posted: every message is unexpected, and is looked for with both wildcards.
class ProbeInbox final : public Inbox {
public:
    ProbeInbox(MPI_Comm comm, tally *count) : comm_(comm), count_(count) {}
    std::vector<Message> take(bool wait) override {
        int found = 1;
        MPI_Message handle;
        MPI_Status status;
        if (wait) {
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &handle, &status);
        } else {
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &handle, &status);
        }
        if (!found) {
            return {};
        }
        Message message{status.MPI_TAG, {}, {}};
        if (message.tag == kTagToken) {
            MPI_Mrecv(&message.token, 2, MPI_INT64_T, &handle, &status);
            tally_receive(count_, &status, MPI_INT64_T);
        } else {
            int words;
            MPI_Get_count(&status, MPI_UINT32_T, &words);
            message.updates.resize(static_cast<std::size_t>(words / 2));
            MPI_Mrecv(message.updates.data(), words, MPI_UINT32_T, &handle, &status);
            tally_receive(count_, &status, MPI_UINT32_T);
        }
        return {message};
    }

private:
    MPI_Comm comm_;
    tally *count_;
};

/// One rank's part of the search.
class Search {
public:
    Search(const Graph &graph, int batch, MPI_Comm comm, tally *count)
        : graph_(graph), batch_(batch), comm_(comm), count_(count) {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &ranks_);
        best_.assign(graph.start.size() - 1, kUnreached);
        outboxes_.resize(static_cast<std::size_t>(ranks_));
        if (rank_ == 0) {
            improve({0, 0});
        }
    }

    /// Runs to the global end. `grain` is the number of vertices between two looks at the inbox.
    void run(Inbox &inbox, long grain, bool corrupt) {
        bool holds_token = rank_ == 0;
        // Rank 0 begins as if a black token had come back, so that the first round decides nothing.
        Token token{0, kBlack};
        for (bool finished = false; !finished;) {
            const bool idle = open_.empty();
            if (idle) {
                flush();
                if (ranks_ == 1) {
                    return;
                }
                if (holds_token) {
                    finished = pass_on(token);
                    holds_token = false;
                    continue;
                }
            }
            for (const Message &message : inbox.take(idle)) {
                if (message.tag == kTagToken) {
                    token = message.token;
                    holds_token = true;
                    continue;
                }
                --balance_;
                colour_ = kBlack;
                for (Update update : message.updates) {
                    if (corrupt) {
                        update.distance = 0;
                        corrupt = false;
                    }
                    improve(update);
                }
            }
            for (long i = 0; i < grain && !open_.empty(); ++i) {
                expand();
            }
            reap(false);
        }
        reap(true);
    }

    /// The best known distance of an own vertex; of another's vertex the best that was sent from here.
    Distance distance(Vertex vertex) const { return best_[vertex]; }
    int owner(Vertex vertex) const { return static_cast<int>(vertex % static_cast<Vertex>(ranks_)); }

private:
    struct Sending {
        std::vector<Update> updates;
        Token token;
        MPI_Request request;
    };

    void improve(Update update) {
        if (update.distance >= best_[update.vertex]) {
            return;
        }
        best_[update.vertex] = update.distance;
        if (owner(update.vertex) == rank_) {
            open_.push({update.distance, update.vertex});
            return;
        }
        auto &outbox = outboxes_[static_cast<std::size_t>(owner(update.vertex))];
        outbox.push_back(update);
        if (outbox.size() == static_cast<std::size_t>(batch_)) {
            send_updates(owner(update.vertex));
        }
    }

    void expand() {
        const auto [reached, vertex] = open_.top();
        open_.pop();
        if (reached > best_[vertex]) {
            return;
        }
        for (std::size_t e = graph_.start[vertex]; e < graph_.start[vertex + 1]; ++e) {
            improve({graph_.edges[e].to, reached + graph_.edges[e].weight});
        }
    }

    void send_updates(int target) {
        Sending &sending = sending_.emplace_back();
        sending.updates.swap(outboxes_[static_cast<std::size_t>(target)]);
        const int words = static_cast<int>(2 * sending.updates.size());
        MPI_Isend(sending.updates.data(), words, MPI_UINT32_T, target, kTagUpdates, comm_, &sending.request);
        tally_send(count_, words, MPI_UINT32_T);
        ++balance_;
    }

    void flush() {
        for (int target = 0; target < ranks_; ++target) {
            if (!outboxes_[static_cast<std::size_t>(target)].empty()) {
                send_updates(target);
            }
        }
    }

    void send_token(Token token) {
        Sending &sending = sending_.emplace_back();
        sending.token = token;
        MPI_Isend(&sending.token, 2, MPI_INT64_T, (rank_ + 1) % ranks_, kTagToken, comm_, &sending.request);
        tally_send(count_, 2, MPI_INT64_T);
    }

    /// An idle rank's turn: rank 0 judges the round and begins the next, the others add themselves.
    /// Returns whether the search is over.
    bool pass_on(Token token) {
        if (token.colour == kFinished) {
            if (rank_ + 1 < ranks_) {
                send_token(token);
            }
            return true;
        }
        if (rank_ == 0) {
            if (token.colour == kWhite && colour_ == kWhite && token.balance + balance_ == 0) {
                send_token({0, kFinished});
                return true;
            }
            token = {0, kWhite};
        } else {
            token.balance += balance_;
            token.colour = colour_ == kBlack ? kBlack : token.colour;
        }
        colour_ = kWhite;
        send_token(token);
        return false;
    }

    void reap(bool all) {
        while (!sending_.empty()) {
            int done = 1;
            if (all) {
                MPI_Wait(&sending_.front().request, MPI_STATUS_IGNORE);
            } else {
                MPI_Test(&sending_.front().request, &done, MPI_STATUS_IGNORE);
            }
            if (!done) {
                return;
            }
            sending_.pop_front();
        }
    }

    const Graph &graph_;
    int batch_;
    MPI_Comm comm_;
    tally *count_;
    int rank_ = 0, ranks_ = 1;
    std::vector<Distance> best_;
    Frontier open_;
    std::vector<std::vector<Update>> outboxes_;
    std::deque<Sending> sending_;
    std::int64_t balance_ = 0;
    Colour colour_ = kWhite;
};

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long scale = 11, degree = 8, batch = 8, pool = 16, grain = 4, corrupt = 0;
    const option options[] = {
        {"scale", &scale, 1, 24, "the graph has 2^scale vertices"},
        {"degree", &degree, 1, 64, "edges per vertex"},
        {"batch", &batch, 1, kMostUpdates, "updates in a message at most"},
        {"pool", &pool, 0, 4096, "posted any-source receives; 0: none, matched probes instead"},
        {"grain", &grain, 1, 1000000, "vertices between two looks at the inbox"},
        {"corrupt", &corrupt, 0, 1, "1: spoil the first update that the last rank receives; the check must then fail"},
    };
    const int status = options_parse(argc, argv, "graph", "Asynchronous shortest paths with any-source receives.", options,
                                     std::size(options));
    if (status != OPTIONS_RUN) {
        MPI_Finalize();
        return status;
    }

    int ranks, rank;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    const Graph graph = make_graph(scale, degree);
    tally count{};
    Search search(graph, static_cast<int>(batch), comm, &count);
    const bool spoil = corrupt == 1 && rank == ranks - 1;
    if (pool > 0) {
        PoolInbox inbox(static_cast<int>(pool), static_cast<int>(batch), (rank + ranks - 1) % ranks, comm, &count);
        search.run(inbox, grain, spoil);
    } else {
        ProbeInbox inbox(comm, &count);
        search.run(inbox, grain, spoil);
    }

    // The serial answer comes from rank 0 alone: the other ranks would only repeat its work.
    const auto vertices = static_cast<Vertex>(graph.start.size() - 1);
    std::vector<Distance> expected = rank == 0 ? serial_distances(graph) : std::vector<Distance>(vertices);
    MPI_Bcast(expected.data(), static_cast<int>(vertices), MPI_UINT32_T, 0, comm);
    long totals[2] = {0, 0};  // wrong, reached
    for (Vertex vertex = 0; vertex < vertices; ++vertex) {
        if (search.owner(vertex) == rank) {
            totals[0] += search.distance(vertex) != expected[vertex] ? 1 : 0;
            totals[1] += expected[vertex] != kUnreached ? 1 : 0;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_LONG, MPI_SUM, comm);
    bool right = totals[0] == 0;
    if (rank == 0) {
        std::printf("graph: %u vertices, %zu edges, %ld reached, %ld wrong distances\n", vertices, graph.edges.size() / 2,
                    totals[1], totals[0]);
        if (!right) {
            std::fprintf(stderr, "graph: WRONG: %ld distances differ from the serial search\n", totals[0]);
        }
    }
    right = tally_report(&count, "graph", comm) && right;
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return right ? 0 : 1;
}
