// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// fft: 2-D Fourier transform of an N x N array, rows in blocks over the ranks: rows, transpose, rows.
// The transpose is point-to-point: the receives for all pieces of all other ranks are posted first, then each group of
// rows leaves as soon as it is transformed, so communication hides behind the work on later rows.
// Every rank posts about N / group receives per peer and transpose, tagged with the first row of the group.
// Check: the input is a sum of plane waves, so every bin of the spectrum is known; the inverse must
// give the input back. Cost per transform and rank: 2 N^2/P log2 N butterflies, (P - 1) N/(P group) messages each way.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <iterator>
#include <vector>

#include "common/options.h"
#include "common/random.h"
#include "common/tally.h"

namespace {

using Complex = std::complex<double>;

enum Seed : std::uint64_t { kSeedBin = 1, kSeedAmplitude = 2 };

/// Largest accepted error of a bin or sample; amplitudes are below 1, and rounding grows with log2 N only.
constexpr double kLimit = 1e-12;

/// Row blocks: rank r owns rows [begin(r), begin(r + 1)).
struct Blocks {
    long rows;
    int ranks;
    int begin(int rank) const { return static_cast<int>(rows * rank / ranks); }
    int count(int rank) const { return begin(rank + 1) - begin(rank); }
};

/// e^(+2 pi i k / n) for every k.
std::vector<Complex> unit_roots(long n) {
    std::vector<Complex> roots(static_cast<std::size_t>(n));
    for (long k = 0; k < n; ++k) {
        const double turn = static_cast<double>(k) / static_cast<double>(n);
        roots[static_cast<std::size_t>(k)] = std::polar(1.0, 2 * std::acos(-1.0) * turn);
    }
    return roots;
}

/// In-place radix-2 transform (Cooley, Tukey 1965), not scaled; n is a power of two.
void transform_row(Complex *row, const std::vector<Complex> &roots, bool inverse) {
    const std::size_t n = roots.size();
    for (std::size_t i = 1, mirror = 0; i < n; ++i) {
        std::size_t bit = n >> 1;
        for (; mirror & bit; bit >>= 1) {
            mirror ^= bit;
        }
        mirror ^= bit;
        if (i < mirror) {
            std::swap(row[i], row[mirror]);
        }
    }
    for (std::size_t half = 1; half < n; half *= 2) {
        for (std::size_t start = 0; start < n; start += 2 * half) {
            for (std::size_t k = 0; k < half; ++k) {
                const Complex root = roots[k * (n / 2 / half)];
                const Complex odd = row[start + half + k] * (inverse ? root : std::conj(root));
                row[start + half + k] = row[start + k] - odd;
                row[start + k] += odd;
            }
        }
    }
}

/// The distributed transform and its scratch space.
class Fourier {
public:
    Fourier(long size, int group, MPI_Comm comm) : size_(size), group_(group), comm_(comm), roots_(unit_roots(size)) {
        int ranks;
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &ranks);
        blocks_ = {size, ranks};
        moved_.resize(static_cast<std::size_t>(size * blocks_.count(rank_)));
        // One received row becomes one column here: a vector with the stride of a row, and the
        // extent of one element, so that several rows side by side are several such columns.
        MPI_Datatype column;
        MPI_Type_vector(blocks_.count(rank_), 1, static_cast<int>(size), MPI_CXX_DOUBLE_COMPLEX, &column);
        MPI_Type_create_resized(column, 0, sizeof(Complex), &column_);
        MPI_Type_free(&column);
        MPI_Type_commit(&column_);
    }
    Fourier(const Fourier &) = delete;
    Fourier &operator=(const Fourier &) = delete;
    ~Fourier() { MPI_Type_free(&column_); }

    /// Transforms `rows` in place. The result is transposed: forward and inverse exchange the roles
    /// of rows and columns.
    void run(std::vector<Complex> &rows, bool inverse, bool corrupt, tally *count) {
        transform_and_transpose(rows, inverse, count);
        rows.swap(moved_);
        if (corrupt && rank_ == blocks_.ranks - 1) {
            rows[0] += 1.0;
        }
        for (int i = 0; i < blocks_.count(rank_); ++i) {
            transform_row(&rows[static_cast<std::size_t>(i * size_)], roots_, inverse);
        }
    }

private:
    void transform_and_transpose(std::vector<Complex> &rows, bool inverse, tally *count) {
        std::vector<MPI_Request> requests;
        const int first = blocks_.begin(rank_), own = blocks_.count(rank_);
        for (int shift = 1; shift < blocks_.ranks; ++shift) {
            const int source = (rank_ - shift + blocks_.ranks) % blocks_.ranks;
            for (int row = blocks_.begin(source); row < blocks_.begin(source + 1); row += group_) {
                const int many = std::min(group_, blocks_.begin(source + 1) - row);
                MPI_Irecv(&moved_[static_cast<std::size_t>(row)], many, column_, source, row, comm_,
                          &requests.emplace_back());
            }
        }
        const std::size_t receives = requests.size();
        for (int i = 0; i < own; i += group_) {
            const int many = std::min(group_, own - i);
            for (int k = i; k < i + many; ++k) {
                Complex *row = &rows[static_cast<std::size_t>(k * size_)];
                transform_row(row, roots_, inverse);
                for (int j = 0; j < own; ++j) {
                    moved_[static_cast<std::size_t>(j * size_ + first + k)] = row[first + j];
                }
            }
            for (int shift = 1; shift < blocks_.ranks; ++shift) {
                const int target = (rank_ + shift) % blocks_.ranks;
                MPI_Datatype piece;
                MPI_Type_vector(many, blocks_.count(target), static_cast<int>(size_), MPI_CXX_DOUBLE_COMPLEX, &piece);
                MPI_Type_commit(&piece);
                MPI_Isend(&rows[static_cast<std::size_t>(i * size_ + blocks_.begin(target))], 1, piece, target, first + i,
                          comm_, &requests.emplace_back());
                tally_send(count, 1, piece);
                MPI_Type_free(&piece);
            }
        }
        std::vector<MPI_Status> statuses(requests.size());
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
        for (std::size_t k = 0; k < receives; ++k) {
            tally_receive(count, &statuses[k], MPI_CXX_DOUBLE_COMPLEX);
        }
    }

    long size_;
    int group_;
    MPI_Comm comm_;
    int rank_ = 0;
    Blocks blocks_{};
    std::vector<Complex> roots_, moved_;
    MPI_Datatype column_ = MPI_DATATYPE_NULL;
};

struct Wave {
    long row, column;  ///< bin
    Complex amplitude;
};

/// Bins may coincide; amplitudes then add.
std::vector<Wave> seeded_waves(long count, long size) {
    std::vector<Wave> waves;
    for (long k = 0; k < count; ++k) {
        const auto index = static_cast<std::uint64_t>(2 * k);
        const auto bin = [&](std::uint64_t i) {
            return static_cast<long>(random_bits(kSeedBin, i) % static_cast<std::uint64_t>(size));
        };
        waves.push_back({bin(index), bin(index + 1),
                         {random_unit(kSeedAmplitude, index) - 0.5, random_unit(kSeedAmplitude, index + 1) - 0.5}});
    }
    return waves;
}

double largest_difference(const std::vector<Complex> &values, const std::vector<Complex> &expected, double scale,
                          MPI_Comm comm) {
    double worst = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = std::abs(values[i] * scale - expected[i]);
        worst = error <= worst ? worst : error;
    }
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, comm);
    return worst;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    long size = 128, group = 1, waves = 12, repeat = 2, corrupt = 0;
    const option options[] = {
        {"size", &size, 2, 16384, "points along each side, a power of two"},
        {"group", &group, 1, 16384, "rows per message"},
        {"waves", &waves, 1, 1000, "plane waves in the input"},
        {"repeat", &repeat, 1, 1000000, "transforms forth and back"},
        {"corrupt", &corrupt, 0, 1, "1: spoil one received element; the check must then fail"},
    };
    int status = options_parse(argc, argv, "fft", "2-D Fourier transform, transpose by point-to-point messages.", options,
                               std::size(options));
    int ranks, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (status == OPTIONS_RUN && ((size & (size - 1)) != 0 || size < ranks)) {
        if (rank == 0) {
            std::fprintf(stderr, "fft: --size takes a power of two and at least the %d ranks, found `%ld`\n", ranks, size);
        }
        status = OPTIONS_BAD;
    }
    if (status != OPTIONS_RUN) {
        MPI_Finalize();
        return status;
    }

    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    bool right = true;
    {
        const Blocks blocks{size, ranks};
        const int first = blocks.begin(rank);
        const auto own = static_cast<std::size_t>(size * blocks.count(rank));
        const std::vector<Complex> roots = unit_roots(size);
        // The spectrum comes out transposed: local row = second index of the bin.
        std::vector<Complex> input(own), spectrum(own);
        for (const Wave &wave : seeded_waves(waves, size)) {
            for (int i = 0; i < blocks.count(rank); ++i) {
                for (long j = 0; j < size; ++j) {
                    const long turn = (wave.row * (first + i) + wave.column * j) % size;
                    input[static_cast<std::size_t>(i * size + j)] += wave.amplitude * roots[static_cast<std::size_t>(turn)];
                }
            }
            if (wave.column >= first && wave.column < first + blocks.count(rank)) {
                spectrum[static_cast<std::size_t>((wave.column - first) * size + wave.row)] += wave.amplitude;
            }
        }

        tally count{};
        Fourier fourier(size, static_cast<int>(group), comm);
        const double scale = 1.0 / (static_cast<double>(size) * static_cast<double>(size));
        double forward_error = 0, inverse_error = 0;
        std::vector<Complex> values = input;
        for (long round = 0; round < repeat; ++round) {
            fourier.run(values, false, corrupt == 1 && round == 0, &count);
            forward_error = std::max(forward_error, largest_difference(values, spectrum, scale, comm));
            fourier.run(values, true, false, &count);
            inverse_error = std::max(inverse_error, largest_difference(values, input, scale, comm));
            values = input;
        }
        right = forward_error <= kLimit && inverse_error <= kLimit;
        if (rank == 0) {
            std::printf("fft: %ld x %ld points, spectrum error %.1e, inverse error %.1e (limit %.0e)\n", size, size,
                        forward_error, inverse_error, kLimit);
            if (!right) {
                std::fprintf(stderr, "fft: WRONG: spectrum off by %.1e, input after the inverse off by %.1e\n",
                             forward_error, inverse_error);
            }
        }
        right = tally_report(&count, "fft", comm) && right;
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return right ? 0 : 1;
}
