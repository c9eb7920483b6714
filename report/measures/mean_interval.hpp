// Bounds of a mean from random samples that assume nothing of the values but that they are from 0 to 1.
//
// For each possible mean m, a gambler bets that the samples are above it, and another one that they are below. If m is
// the mean, the capital of neither grows on average, so that it is ever multiplied by 2/alpha with a probability of at
// most alpha/2 (Ville's inequality): all m for which one of them becomes so rich are excluded. The bets are those of
// the hedged capital of Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024); they
// depend on earlier samples only, so the bounds hold for any number of samples.
#pragma once

#include <span>

namespace gpuhist::report::measures {

struct mean_interval {
  double at_least = 0;
  double at_most = 1;
};

/// Contains the mean of the distribution with a probability of at least 1 - alpha. The samples, in the order in which
/// they were drawn, are independent. `at_least`, `at_most`: bounds of each sample, from 0 to 1; the same where the
/// sample is known. Precondition: both have the same size; 0 < alpha < 1.
mean_interval interval_of_mean(std::span<const double> at_least, std::span<const double> at_most, double alpha);

}  // namespace gpuhist::report::measures
