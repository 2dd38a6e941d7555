// SPDX-License-Identifier: Apache-2.0 OR MIT
// Streams, containers and exceptions of C++.

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

double divide(double a, double b)
{
    if (b == 0) {
        throw std::invalid_argument("division by zero of " + std::to_string(a));
    }
    return a / b;
}

struct Guard {
    std::string name;
    ~Guard() { std::cout << "end of " << name << '\n'; }
};

} // namespace

int main(int argc, char **argv)
{
    std::map<std::string, int> count;
    for (int i = 1; i < argc; i++) {
        count[argv[i]] += i;
    }
    for (const auto &[word, value] : count) {
        std::cout << word << ": " << value << '\n';
    }
    std::vector<double> list;
    for (int i = 0; i < 50; i++) {
        list.push_back(divide(i * 7 % 50, 3));
    }
    std::sort(list.begin(), list.end());
    std::cout.precision(17);
    std::cout << list.front() << ' ' << list[25] << ' ' << list.back() << std::endl;
    try {
        auto guard = std::make_unique<Guard>(Guard{"guard"});
        divide(1.5, 0);
    } catch (const std::exception &error) {
        std::cout << "caught " << error.what() << '\n';
    }
    std::cout << "all done" << std::endl;
    return 3;
}
